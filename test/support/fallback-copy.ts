import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Whether the fallback copy in the data directory already has the row. */
export function isInFallbackCopy(dataDir: string, id: string): boolean {
  const copy = new DatabaseSync(join(dataDir, 'last-known.db'), { readOnly: true })
  try {
    return copy.prepare('SELECT 1 FROM resources WHERE id = ?').get(id) !== undefined
  } finally {
    copy.close()
  }
}
