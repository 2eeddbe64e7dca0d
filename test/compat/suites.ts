import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { TestContext } from 'node:test'
import { createTempDir } from '../support/temp-dir.ts'

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

/** The checkout of a suite that no registry has, from a variable; `missing` says how to name it. */
export function requireCheckout(
  variable: string,
  what: string,
): { path: string; missing: string | undefined } {
  const path = process.env[variable] ?? ''
  return { path, missing: path === '' ? `needs ${variable}, the path of a checkout of ${what}` : undefined }
}

/** Copies the sources of a checkout: suites write beside them. */
export function copyCheckout(path: string): string {
  const dir = createTempDir()
  cpSync(path, dir, { recursive: true, filter: (source) => !BUILT.has(relative(path, source)) })
  return dir
}

const BUILT = new Set(['.git', 'bin/ngrok', 'build', 'node_modules', 'target'])

/** Fails unless exactly the tests of a suite have failed that README.md lists for it, and as many have passed. */
export function assertKnownFailures(suite: string, reportFile: string, output: string): void {
  assert.ok(existsSync(reportFile), `no tests ran:\n${output}`)
  const failed: string[] = []
  let count = 0
  const report = readFileSync(reportFile, 'utf8')
  for (const [, attributes = '', content = ''] of report.matchAll(
    /<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g,
  )) {
    count++
    assert.ok(!content.includes('<skipped'), `a test was skipped: ${attributes}`)
    if (/<(failure|error)/.test(content)) failed.push(/\bname="([^"]+)"/.exec(attributes)?.[1] ?? attributes)
  }
  assert.deepEqual(
    failed.map((name) => name.replace(/\(.*\)$/, '')).sort(),
    rowsOf('| Suite | Test | Why it fails |', suite),
    output,
  )
  assert.deepEqual(
    [`${count - failed.length} of ${count}`],
    rowsOf('| Suite | Passed | How it runs |', suite),
  )
}

/** The second column of a table in README.md, of the rows whose first column names the suite. */
function rowsOf(head: string, suite: string): string[] {
  const [, after = ''] = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8').split(head)
  const [table = ''] = after.split('\n\n')
  const rows = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
  return rows
    .filter(([, suites = '']) => suites.split(', ').includes(suite))
    .map(([, , second = '']) => second.replaceAll('`', ''))
    .sort()
}
