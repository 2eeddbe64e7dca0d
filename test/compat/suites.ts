import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** The command line that runs a command beside a platform of its own. */
export function isolated(command: readonly string[]): [string, ...string[]] {
  return [process.execPath, join(import.meta.dirname, 'isolated-platform.ts'), ...command]
}

/** Creates an environment of Python with these packages, and answers its interpreter. */
export function createVenv(dir: string, packages: readonly string[]): string {
  execFileSync('python3', ['-m', 'venv', join(dir, 'venv')])
  const python = join(dir, 'venv', 'bin', 'python')
  if (packages.length > 0) execFileSync(python, ['-m', 'pip', 'install', ...packages], { stdio: 'ignore' })
  return python
}

/** Runs a program that calls the API by a plan on standard input, and fails with the calls that failed. */
export async function assertWalk(
  t: TestContext,
  [program, ...args]: [string, ...string[]],
  plan: unknown,
): Promise<void> {
  const output = await new Promise<string>((resolve, reject) => {
    const child = execFile(program, args, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    )
    child.stdin?.end(JSON.stringify(plan))
  })
  const { calls, failures } = JSON.parse(output)
  t.diagnostic(`${calls} calls`)
  assert.deepEqual(failures, [])
}

/** Fails unless exactly the tests of a suite have failed that the table in README.md lists for it. */
export function assertKnownFailures(suite: string, junitReport: string, output: string): void {
  const failed: string[] = []
  let count = 0
  for (const [, attributes = '', content = ''] of junitReport.matchAll(
    /<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g,
  )) {
    count++
    assert.ok(!content.includes('<skipped'), `a test was skipped: ${attributes}`)
    if (/<(failure|error)/.test(content)) failed.push(/\bname="([^"]+)"/.exec(attributes)?.[1] ?? attributes)
  }
  assert.ok(count > 0, `no tests ran:\n${output}`)
  assert.deepEqual(failed.sort(), knownFailures(suite), output)
}

const TABLE_OF_FAILURES = '| Suite | Test | Why it fails |'

/** The tests in README.md's table of failures whose first column names the suite. */
function knownFailures(suite: string): string[] {
  const [, table = ''] = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8').split(TABLE_OF_FAILURES)
  const rows = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
  return rows
    .filter(([, suites = '']) => suites.split(', ').includes(suite))
    .map(([, , name = '']) => name.replaceAll('`', ''))
    .sort()
}
