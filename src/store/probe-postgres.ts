import pg from 'pg'
import { describeError } from './postgres-errors.ts'

const PROBE_TIMEOUT_MS = 5_000

/** Connects to a PostgreSQL database and returns its time in milliseconds, or a sentence that says why it cannot be used. */
export async function probePostgres(url: string): Promise<number | string> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: PROBE_TIMEOUT_MS,
    query_timeout: PROBE_TIMEOUT_MS,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now')
    return Number(rows[0].now)
  } catch (error) {
    return describeError(error)
  } finally {
    await client.end().catch(() => {})
  }
}
