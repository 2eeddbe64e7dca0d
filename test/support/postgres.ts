import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { TIMEOUT_MS } from './eventually.ts'
import { findFreePorts } from './free-ports.ts'
import type { TlsIdentity } from './test-ca.ts'

/** A temporary PostgreSQL server in its own directory. */
export interface PostgresServer {
  /** The URL of its maintenance database. */
  readonly url: string
  /** Its data directory, for tests that inspect the files. */
  readonly dataDir: string
  stop(): Promise<void>
  /** Ends all its processes at once, like a crash of the machine's software. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Stops it and removes its files. */
  dispose(): Promise<void>
}

let shared: Promise<{ url: string; dataDir: string | undefined }> | undefined

/** Creates an empty database on the server shared by this test run; it is dropped when the test ends. */
export async function createTestDatabase(
  t: Pick<TestContext, 'after'>,
): Promise<{ url: string; dataDir: string | undefined }> {
  shared ??= openSharedServer()
  const { url, dataDir } = await shared
  const name = `test_${randomBytes(8).toString('hex')}`
  await execute(url, `CREATE DATABASE ${name}`)
  t.after(async () => void (await execute(url, `DROP DATABASE ${name} WITH (FORCE)`)))
  const databaseUrl = new URL(url)
  databaseUrl.pathname = `/${name}`
  return { url: databaseUrl.href, dataDir }
}

async function openSharedServer(): Promise<{ url: string; dataDir: string | undefined }> {
  const url = process.env.ADIT_TEST_POSTGRES_URL
  if (url) return { url, dataDir: process.env.ADIT_TEST_POSTGRES_DATA }
  const server = await startPostgres()
  // The test runner has no hook for resources shared by tests, so this cleans up synchronously.
  process.once('exit', () => {
    execFileSync(join(findBinaries(), 'pg_ctl'), ['stop', '-D', server.dataDir, '-m', 'immediate'], {
      ...postgresUser(),
      stdio: 'ignore',
    })
    rmSync(join(server.dataDir, '..'), { recursive: true, force: true })
  })
  return server
}

/** Runs a statement on a connection of its own; returns the rows. */
export async function execute(url: string, statement: string): Promise<pg.QueryResult['rows']> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

/** Starts a separate server, for tests that stop it or change its settings. `copyOf`: with the data of one that is stopped. */
export function startPostgres(
  settings: Readonly<Record<string, string>> = {},
  copyOf?: PostgresServer,
): Promise<PostgresServer> {
  const options = ['-U', 'adit', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--locale=C.UTF-8']
  return startOnDirectory(
    (dataDir) =>
      copyOf === undefined
        ? [join(findBinaries(), 'initdb'), '-D', dataDir, ...options]
        : ['cp', '-a', copyOf.dataDir, dataDir],
    settings,
  )
}

/**
 * Starts a standby that streams from the primary at this port. It accepts no writes until it is promoted:
 * `SELECT pg_promote()`.
 */
export function startStandby(primaryPort: number): Promise<PostgresServer> {
  const source = `host=127.0.0.1 port=${primaryPort} user=adit application_name=standby`
  const options = ['-d', source, '--write-recovery-conf', '--checkpoint=fast', '--no-sync']
  return startOnDirectory((dataDir) => [join(findBinaries(), 'pg_basebackup'), '-D', dataDir, ...options])
}

/** Starts a server on a directory that a command makes. */
async function startOnDirectory(
  commandFor: (dataDir: string) => readonly [program: string, ...args: string[]],
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const root = mkdtempSync(join(tmpdir(), 'adit-postgres-'))
  const dataDir = join(root, 'data')
  const port = await findFreePorts(1)
  const user = postgresUser()
  if (user) chownSync(root, user.uid, user.gid)
  // Not synchronously: the relay of a standby may be in this process.
  const [program, ...args] = commandFor(dataDir)
  const making = spawn(program, args, { ...user, stdio: ['ignore', 'ignore', 'inherit'], cwd: root })
  const [code] = await once(making, 'exit')
  if (code !== 0) throw new Error(`${program} failed with exit code ${code}.`)
  const options = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: root,
    max_connections: '300',
    shared_buffers: '64MB',
    ...settings,
  }
  const flags = Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const url = `postgres://adit@127.0.0.1:${port}/postgres`
  let child: ReturnType<typeof spawn> | undefined

  const server: PostgresServer = {
    url,
    dataDir,
    async start() {
      child = spawn(join(findBinaries(), 'postgres'), ['-D', dataDir, ...flags], {
        ...user,
        cwd: root,
        stdio: 'ignore',
      })
      child.unref()
      const deadline = performance.now() + TIMEOUT_MS
      for (;;) {
        try {
          await execute(url, 'SELECT 1')
          return
        } catch (error) {
          if (performance.now() > deadline || child.exitCode !== null) {
            throw new Error('The temporary PostgreSQL server did not start.', { cause: error })
          }
          await delay(20)
        }
      }
    },
    async stop() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.ref()
      // Fast shutdown: closes connections, loses nothing.
      child.kill('SIGINT')
      await ended
    },
    async kill() {
      const processes = readFileSync(`/proc/${child!.pid}/task/${child!.pid}/children`, 'utf8')
      const ended = once(child!, 'exit')
      child!.ref()
      child!.kill('SIGKILL')
      for (const pid of processes.trim().split(' ')) process.kill(Number(pid), 'SIGKILL')
      await ended
    },
    async dispose() {
      await server.stop()
      rmSync(root, { recursive: true, force: true })
    },
  }
  await server.start()
  return server
}

/** Lets a server accept TLS with this certificate; new connections meet it. */
export async function enableTls({ url, dataDir }: PostgresServer, { cert, key }: TlsIdentity): Promise<void> {
  const { uid, gid } = statSync(dataDir)
  // The default names of the settings, in the data directory.
  for (const [name, text] of [
    ['server.crt', cert],
    ['server.key', key],
  ] as const) {
    const file = join(dataDir, name)
    writeFileSync(file, text, { mode: 0o600 })
    chownSync(file, uid, gid)
  }
  await execute(url, 'ALTER SYSTEM SET ssl = on')
  await execute(url, 'SELECT pg_reload_conf()')
}

/** The server programs refuse to run as root. */
function postgresUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

function findBinaries(): string {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  for (const version of versions) {
    const bin = join(root, version, 'bin')
    if (existsSync(join(bin, 'initdb'))) return bin
  }
  throw new Error('These tests need the PostgreSQL server programs: install the Debian package postgresql.')
}
