import type { TestContext } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { execute, type PostgresServer, startPostgres, startStandby } from '../../support/postgres.ts'
import { type Relay, startRelay } from '../../support/relay.ts'

/** A primary with a standby that can take over from it. */
export interface Cluster {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  /** What the standby gets from the primary goes through it: frozen, the standby stays behind. */
  readonly replication: Relay
  /** The URL that names both. */
  readonly url: string
  /** Ends the standby's part: it accepts writes from now on, whatever became of the primary. */
  promote(): Promise<void>
}

/** Starts a cluster that lasts as long as the test. A synchronous standby has each change before it is confirmed. */
export async function startCluster(
  t: TestContext,
  { synchronous = false }: { synchronous?: boolean } = {},
): Promise<Cluster> {
  const primary = await startServer(t, startPostgres())
  const replication = await startRelay(t, portOf(primary))
  const standby = await startServer(t, startStandby(replication.port))
  if (synchronous) {
    await execute(primary.url, "ALTER SYSTEM SET synchronous_standby_names = 'standby'")
    await execute(primary.url, 'SELECT pg_reload_conf()')
  }
  const state = synchronous ? 'sync' : 'async'
  await eventually(async () => {
    const [follower] = await execute(primary.url, 'SELECT state, sync_state FROM pg_stat_replication')
    return follower?.state === 'streaming' && follower.sync_state === state
  }, 'the standby follows')
  const hosts = [primary, standby].map((server) => `127.0.0.1:${portOf(server)}`)
  return {
    primary,
    standby,
    replication,
    url: `postgres://adit@${hosts}/postgres?target_session_attrs=read-write`,
    promote: async () => void (await execute(standby.url, 'SELECT pg_promote()')),
  }
}

/** The same database at another port, such as that of a relay. */
export function throughPort(url: string, port: number): string {
  const relayed = new URL(url)
  relayed.port = String(port)
  return relayed.href
}

export function portOf({ url }: PostgresServer): number {
  return Number(new URL(url).port)
}

async function startServer(t: TestContext, starting: Promise<PostgresServer>): Promise<PostgresServer> {
  const server = await starting
  t.after(() => server.dispose())
  return server
}
