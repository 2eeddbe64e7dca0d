import pg from 'pg'
import { errorMessage } from '../../base/text/error-message.ts'
import { formatPostgresUrl, type PostgresUrl, parsePostgresUrl } from '../../base/text/postgres-url.ts'
import { StoreUnavailable } from '../store.ts'
import { UnsupportedDatabase } from './unsupported-database.ts'

/** The values of `target_session_attrs` for a database that is written to. */
const WRITABLE = ['any', 'read-write', 'primary']

/** The servers that a URL names: with several, the database is at the one that accepts writes. */
export class PostgresTargets {
  readonly #configs: readonly pg.ClientConfig[]
  #index = 0

  constructor(url: string) {
    const parsed = parsePostgresUrl(url)
    if (parsed === undefined)
      throw new UnsupportedDatabase(
        'The database URL must be one of PostgreSQL, or be left out for SQLite in the data directory.',
      )
    const attributes = parsed.parameters.find(([name]) => name === 'target_session_attrs')?.[1]
    if (attributes !== undefined && !WRITABLE.includes(attributes))
      throw new UnsupportedDatabase(
        `target_session_attrs=${attributes} in the database URL selects a standby: use read-write.`,
      )
    const parameters = libpqParameters(parsed)
    this.#configs = parsed.hosts.map((host) => ({
      connectionString: formatPostgresUrl({ ...parsed, parameters }, host),
    }))
    this.#validate()
  }

  /** The server that accepted writes last. */
  get current(): pg.ClientConfig {
    return this.#configs[this.#index]!
  }

  /** Tries the servers in turn, the current one first; the first with which `connect` succeeds becomes the current one. */
  async connect<T>(connect: (config: pg.ClientConfig) => Promise<T>): Promise<T> {
    const first = this.#index
    for (let attempt = 0; ; attempt++) {
      const index = (first + attempt) % this.#configs.length
      try {
        const result = await connect(this.#configs[index]!)
        this.#index = index
        return result
      } catch (error) {
        if (attempt === this.#configs.length - 1) throw error
      }
    }
  }

  /** Throws for a standby, where the URL names others. */
  async requireWritable(client: pg.ClientBase): Promise<void> {
    if (this.#configs.length === 1) return
    const { rows } = await client.query('SHOW transaction_read_only')
    if (rows[0].transaction_read_only === 'on')
      throw new StoreUnavailable('None of the servers in the database URL accepts writes.')
  }

  /** The library reads the files of a URL when a client is made. */
  #validate(): void {
    try {
      for (const config of this.#configs) new pg.Client(config)
    } catch (error) {
      throw new UnsupportedDatabase(`The database URL cannot be used: ${errorMessage(error)}.`)
    }
  }
}

/** The parameters as the library understands them: its own meaning of `sslmode` differs from libpq's and warns of that. */
function libpqParameters({ parameters }: PostgresUrl): (readonly [string, string])[] {
  const kept = parameters.filter(([name]) => name !== 'target_session_attrs' && name !== 'uselibpqcompat')
  if (kept.some(([name, value]) => name === 'sslrootcert' && value === 'system')) {
    const others = kept.filter(([name]) => name !== 'sslrootcert' && name !== 'sslmode')
    return [...others, ['sslmode', 'verify-full']]
  }
  const usesTls = kept.some(([name]) => name === 'sslmode')
  const translated = kept.map(([name, value]) =>
    name === 'sslmode' && value === 'allow' ? ([name, 'prefer'] as const) : ([name, value] as const),
  )
  return usesTls ? [...translated, ['uselibpqcompat', 'true']] : translated
}
