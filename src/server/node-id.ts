import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileAtomic } from './atomic-file.ts'

/** A name for this node that lasts: after a crash it takes back its own leases instead of waiting for them to end. */
export async function loadNodeId(dataDir: string): Promise<string> {
  const file = join(dataDir, 'node-id')
  const stored = await readFile(file, 'utf8').catch(() => '')
  if (/^[0-9a-f-]{36}$/.test(stored.trim())) return stored.trim()
  const created = randomUUID()
  await writeFileAtomic(file, `${created}\n`, 0o600)
  return created
}
