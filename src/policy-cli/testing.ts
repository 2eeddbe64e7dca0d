import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A terminal that keeps what is written. */
export function captureOutput() {
  const written = { out: '', error: '' }
  return {
    written,
    out: (text: string) => {
      written.out += text
    },
    error: (text: string) => {
      written.error += text
    },
  }
}

/** A directory for the policies of a test. */
export function createPolicyDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'adit-policy-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}
