import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The command line that runs a command beside a platform of its own. */
export function isolated(command: readonly string[]): [string, ...string[]] {
  return [process.execPath, join(import.meta.dirname, 'isolated-platform.ts'), ...command]
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

/** The rows of README.md's table whose first column names the suite: `| suites | test | why |`. */
function knownFailures(suite: string): string[] {
  const text = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')
  const rows = text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
  return rows
    .filter(([, suites = '']) => suites.split(', ').includes(suite))
    .map(([, , name = '']) => name.replaceAll('`', ''))
    .sort()
}
