import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Agent, fetch as undiciFetch } from 'undici'
import { type ServerLimits, startServer } from '../../src/server/index.ts'
import { readSettings } from '../../src/server/settings/settings.ts'
import { type ApiClient, CHEAP_PASSWORD_COST, createClient } from './api.ts'
import { eventuallyEqual } from './eventually.ts'
import { ANY_PORTS } from './free-ports.ts'
import { createTestDatabase } from './postgres.ts'
import { createTempDir } from './temp-dir.ts'

/** The contents of `credentials.json` of a server with all its listeners. */
export interface Credentials {
  readonly api_url: string
  readonly api_key: string
  readonly authtoken: string
  readonly agent_addr: string
  readonly ca_file: string
  readonly http_url: string
  readonly https_url: string
  readonly ssh_addr: string
}

/** The complete platform in this process, on free ports, with one account. */
export interface TestPlatform {
  readonly dataDir: string
  /** The PostgreSQL database; undefined for SQLite in the data directory. */
  readonly databaseUrl: string | undefined
  readonly credentials: Credentials
  /** The dashboard's administrator; empty for a node that joined a cluster. */
  readonly admin: { readonly email: string; readonly password: string }
  readonly caPem: string
  readonly call: ApiClient
  /** Like the global `fetch`, but resolves every name to this machine and trusts the platform's private root. */
  fetch(url: string, init?: Parameters<typeof undiciFetch>[1]): ReturnType<typeof undiciFetch>
  stop(): Promise<void>
}

/** Set by `test/long/attacks.test.ts`: each platform is two nodes on PostgreSQL. */
export const TWO_NODES: boolean = process.env.TEST_NODES === '2'

/** The flags that choose a node's database or directory: a test that sets them starts its nodes itself. */
const OWN_NODES = ['--database-url', '--data-dir', '--roles']

/** Starts the platform; it stops with the test. `existingDataDir` restarts a platform that was stopped. */
export async function startPlatform(
  t: TestContext,
  flags: string[] = [],
  existingDataDir?: string,
  limits?: ServerLimits,
): Promise<TestPlatform> {
  if (!TWO_NODES || existingDataDir !== undefined || flags.some((flag) => OWN_NODES.includes(flag)))
    return startNode(t, flags, existingDataDir, limits)
  const { url } = await createTestDatabase(t)
  const entry = await startNode(t, [...flags, '--database-url', url], undefined, limits)
  const home = await startNode(t, [...flags, '--database-url', url, ...joinFlags(entry)], undefined, limits)
  const { api_url, agent_addr, ssh_addr } = home.credentials
  return {
    ...entry,
    credentials: { ...entry.credentials, api_url, agent_addr, ssh_addr },
    call: createClient(api_url, entry.credentials.api_key),
    async stop() {
      await home.stop()
      await entry.stop()
    },
  }
}

/**
 * The flags of the node that agents, SSH clients and API calls of the platform use, beside the node that visitors use. Its
 * public ports are those of the visitors' node, as behind one balancer.
 */
export function joinFlags({
  dataDir,
  credentials,
}: {
  readonly dataDir: string
  readonly credentials: Pick<TestPlatform['credentials'], 'http_url' | 'https_url'>
}): string[] {
  return [
    ...['--master-key-file', join(dataDir, 'master.key'), '--tcp-host', '127.0.0.2'],
    ...['--public-http-port', new URL(credentials.http_url).port],
    ...['--public-https-port', new URL(credentials.https_url).port],
  ]
}

async function startNode(
  t: TestContext,
  flags: string[],
  existingDataDir?: string,
  limits?: ServerLimits,
): Promise<TestPlatform> {
  const dataDir = existingDataDir ?? createTempDir()
  const args = [
    '--data-dir',
    dataDir,
    '--log-level',
    'error',
    '--api-rate-limit',
    '0',
    '--login-rate-limit',
    '0',
    ...ANY_PORTS,
    ...flags,
  ]
  const settings = readSettings(args, {})
  const server = await startServer(settings, { passwordCost: CHEAP_PASSWORD_COST, ...limits })
  const credentials = server.credentials as TestPlatform['credentials']
  const caPem = await readFile(credentials.ca_file, 'utf8')
  const dispatcher = new Agent({
    connect: {
      ca: caPem,
      lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
    },
  })
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= dispatcher.close().then(() => server.stop())
    return stopping
  }
  t.after(stop)
  return {
    dataDir,
    databaseUrl: settings.databaseUrl,
    credentials,
    admin: {
      email: server.createdAccount?.email ?? '',
      password: server.createdAccount?.password.reveal() ?? '',
    },
    caPem,
    call: createClient(credentials.api_url, credentials.api_key),
    fetch: (url, init = {}) => undiciFetch(url, { ...init, dispatcher }),
    stop,
  }
}

/** Waits until the URL answers with the status: configuration reaches traffic shortly after the API's response. */
export function eventuallyStatus(
  { fetch }: Pick<TestPlatform, 'fetch'>,
  url: string,
  status: number,
): Promise<void> {
  return eventuallyEqual(async () => {
    // As a browser that loads a page, which a sign-in redirects.
    const response = await fetch(url, { redirect: 'manual', headers: { accept: 'text/html' } })
    await response.text()
    return response.status
  }, status)
}
