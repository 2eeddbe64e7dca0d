import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeWholeFile } from './atomic-file.ts'

/** A name for this node that lasts: after a crash it takes back its own leases instead of waiting for them to end. */
export async function nodeId(dataDir: string): Promise<string> {
  const file = join(dataDir, 'node-id')
  const known = await readFile(file, 'utf8').catch(() => '')
  if (/^[0-9a-f-]{36}$/.test(known.trim())) return known.trim()
  const made = randomUUID()
  await writeWholeFile(file, `${made}\n`, 0o600)
  return made
}
