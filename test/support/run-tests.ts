import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** Runs test files of their own runner, one after the other; resolves to its exit code and output. */
export async function runTests(
  files: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(
    process.execPath,
    ['--test', '--test-concurrency=1', '--test-reporter=spec', ...files],
    {
      cwd: join(import.meta.dirname, '..', '..'),
      // Otherwise the child detects the parent test runner and reports in its internal format.
      env: { ...process.env, ...environment, NODE_TEST_CONTEXT: undefined },
    },
  )
  const [[code], output] = await Promise.all([once(child, 'exit'), text(child.stdout)])
  return { code, output }
}
