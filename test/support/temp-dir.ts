import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const directories: string[] = []

process.once('exit', () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

/**
 * Creates an empty directory that is removed when the test process ends, not with the test: a program that the test has
 * started may write there until then.
 */
export function createTempDir(): string {
  const directory = mkdtempSync(join(tmpdir(), 'adit-test-'))
  directories.push(directory)
  return directory
}
