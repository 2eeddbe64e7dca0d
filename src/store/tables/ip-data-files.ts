import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import type { DurableStore } from '../durable-store.ts'

/** A file with facts about addresses that the operator has imported. */
export interface IpDataFile {
  readonly name: string
  /** SHA-256 of its bytes. */
  readonly digest: string
  readonly size: number
  readonly importedAt: number
}

/** The imported files, which every node of the database reads. */
export interface IpDataFiles {
  list(): Promise<readonly IpDataFile[]>
  /** The bytes of a file; undefined when it was removed or replaced meanwhile. */
  read(file: IpDataFile): Promise<Buffer | undefined>
  /** Stores a file, in place of one with the same name. */
  put(name: string, bytes: Buffer, importedAt: number): Promise<void>
  /** Returns false when there is none of this name. */
  remove(name: string): Promise<boolean>
}

/** Small enough that other writes do not wait for long. */
const CHUNK_BYTES = 512 * 1024

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** Opens the imported files of a store. They are public data, so they are not sealed. */
export function openIpDataFiles({ engine, inTransaction }: DurableStore): IpDataFiles {
  const { reader } = engine
  const removeUnused = (sql: Parameters<Parameters<typeof inTransaction>[0]>[0]) =>
    sql.run('DELETE FROM ip_data_chunks WHERE digest NOT IN (SELECT digest FROM ip_data_files)')

  return {
    async list() {
      const rows = await reader.all('SELECT name, digest, size, imported_at FROM ip_data_files ORDER BY name')
      return rows.map((row) => ({
        name: String(row.name),
        digest: String(row.digest),
        size: Number(row.size),
        importedAt: Number(row.imported_at),
      }))
    },

    async read({ digest, size }) {
      const chunks: Buffer[] = []
      for (let number = 0; number * CHUNK_BYTES < size; number++) {
        const row = await reader.get(
          'SELECT data FROM ip_data_chunks WHERE digest = ? AND number = ?',
          digest,
          number,
        )
        if (row === undefined) return undefined
        chunks.push(await decompress(Buffer.from(String(row.data), 'base64')))
      }
      return Buffer.concat(chunks)
    },

    async put(name, bytes, importedAt) {
      const digest = hash('sha256', bytes)
      for (let number = 0; number * CHUNK_BYTES < bytes.length; number++) {
        const chunk = bytes.subarray(number * CHUNK_BYTES, (number + 1) * CHUNK_BYTES)
        const data = (await compress(chunk)).toString('base64')
        await inTransaction(async (sql) =>
          sql.run(
            `INSERT INTO ip_data_chunks (digest, number, data) VALUES (?, ?, ?)
             ON CONFLICT (digest, number) DO UPDATE SET data = excluded.data`,
            digest,
            number,
            data,
          ),
        )
      }
      await inTransaction(async (sql) => {
        await sql.run(
          `INSERT INTO ip_data_files (name, digest, size, imported_at) VALUES (?, ?, ?, ?)
           ON CONFLICT (name) DO UPDATE SET digest = excluded.digest, size = excluded.size,
             imported_at = excluded.imported_at`,
          name,
          digest,
          bytes.length,
          importedAt,
        )
        await removeUnused(sql)
      })
    },

    remove: (name) =>
      inTransaction(async (sql) => {
        const removed = await sql.run('DELETE FROM ip_data_files WHERE name = ?', name)
        await removeUnused(sql)
        return removed > 0
      }),
  }
}
