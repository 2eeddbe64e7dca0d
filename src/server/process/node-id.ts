import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileAtomic } from '../../base/process/atomic-file.ts'

/**
 * The persistent id of this node: after a crash it takes over its own leases instead of waiting for them to expire. Each
 * worker is a node.
 */
export async function loadNodeId(dataDir: string, worker?: number): Promise<string> {
  const file = nodeIdFile(dataDir, worker)
  const stored = await readFile(file, 'utf8').catch(() => '')
  if (/^[0-9a-f-]{36}$/.test(stored.trim())) return stored.trim()
  const created = randomUUID()
  await storeNodeId(created, dataDir, worker)
  return created
}

/** Makes this the id of the node: a release that replaces another is a node beside it, and then in its place. */
export async function storeNodeId(id: string, dataDir: string, worker?: number): Promise<void> {
  await writeFileAtomic(nodeIdFile(dataDir, worker), `${id}\n`, 0o600)
}

function nodeIdFile(dataDir: string, worker: number | undefined): string {
  return join(dataDir, worker === undefined ? 'node-id' : `node-id-${worker}`)
}
