import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, type TestContext } from 'node:test'
import { type Api, type ApiConfig, createApi, type OnlineInventory } from '../../src/api/index.ts'
import { createAccount, createAuth, createIpRestrictions, type NewAccount } from '../../src/auth/index.ts'
import { createOutbound } from '../../src/base/outbound/outbound.ts'
import { type Logger, silentLog } from '../../src/base/process/log.ts'
import { type Clock, systemClock } from '../../src/base/values/clock.ts'
import { createOperatorAuthority } from '../../src/certs/index.ts'
import { createDashboard, createPasswords, type Passwords } from '../../src/dashboard/index.ts'
import {
  createLoginSync,
  type DurableStore,
  openApplicationSessions,
  openLoginRecords,
  openStore,
} from '../../src/store/index.ts'
import { createTempDir } from './temp-dir.ts'

/** An API response as tests see it. */
export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape.
  readonly body: any
}

export interface CallOptions {
  body?: unknown
  raw?: string
  headers?: Record<string, string>
  key?: string | undefined
}

/** An HTTP client for the API. */
export interface ApiClient {
  (method: string, path: string, options?: CallOptions): Promise<TestResponse>
  /** Creates a resource and asserts status 201. */
  create(path: string, body: unknown): Promise<TestResponse['body']>
}

export interface TestApi {
  readonly url: string
  readonly http: Api['http']
  readonly store: DurableStore
  /** The directory of the database and the master key. */
  readonly dataDir: string
  readonly account: NewAccount
  /** A second account, which must not see the first one's resources. */
  readonly otherAccount: NewAccount
  readonly call: ApiClient
  readonly callAsOther: ApiClient
  client(key: string | undefined): ApiClient
  close(): Promise<void>
}

export const emptyOnline: OnlineInventory = {
  sessions: () => [],
  tunnels: () => [],
  endpoints: () => [],
  tunnelsWith: () => [],
  command: async () => undefined,
}

export interface TestApiOptions {
  databaseUrl?: string
  config?: Partial<ApiConfig>
  online?: OnlineInventory
  clock?: Clock
  log?: Logger
  /** Serves the dashboard together with the API. */
  dashboard?: boolean
  passwords?: Passwords
  /** What calls that have changed something wait for. */
  applied?: () => Promise<void>
  /** The directory of the dashboard's built pages. */
  pages?: string
  /** The data directory; by default a temporary one. */
  dataDir?: string
}

/** Password hashing at minimal cost, for tests that are not about its cost. */
export const CHEAP_PASSWORD_COST = { N: 16, r: 1, p: 1 }
export const cheapPasswords = createPasswords(CHEAP_PASSWORD_COST)

/** The API alone, over real HTTP, on a real database, with two accounts. */
export async function startApi(
  t: Pick<TestContext, 'after'>,
  options: TestApiOptions = {},
): Promise<TestApi> {
  return (await openApi(t, options))()
}

/**
 * One API for all tests of a file, since starting one takes longer than most tests. `fresh` creates two accounts for each
 * test. Call it while the file loads.
 */
export async function shareApi(options: TestApiOptions = {}): Promise<{ fresh: () => Promise<TestApi> }> {
  return { fresh: await openApi({ after: (end) => after(end as () => void) }, options) }
}

async function openApi(
  t: Pick<TestContext, 'after'>,
  options: TestApiOptions,
): Promise<() => Promise<TestApi>> {
  const dataDir = options.dataDir ?? createTempDir()
  const clock = options.clock ?? systemClock
  const log = options.log ?? silentLog
  const store = await openStore({
    url: options.databaseUrl,
    dataDir,
    masterKeyFile: join(dataDir, 'master.key'),
    clock,
    log,
  })
  let url = ''
  let operator = ''
  const auth = createAuth({ store, clock })
  const restrictions = createIpRestrictions({ store, log })
  const apiUrl = options.config?.apiUrl ?? (() => url)
  const dashboard = createDashboard({
    store,
    auth,
    restrictions,
    listenerUrl: apiUrl,
    clock,
    log,
    passwords: options.passwords ?? cheapPasswords,
    ...(options.pages !== undefined && { pages: options.pages }),
  })
  const loginSync = createLoginSync({
    records: openLoginRecords(store),
    sessions: openApplicationSessions(store),
    watch: store.watch,
    clock,
    log,
    jobs: false,
  })
  const api = createApi({
    store,
    dependencies: {
      auth,
      restrictions,
      online: options.online ?? emptyOnline,
      outbound: createOutbound(),
      applicationSessions: loginSync.applicationSessions,
      operatorAuthority: createOperatorAuthority({ store, clock }),
      ...(options.dashboard && { browserAuth: dashboard.browserAuth }),
    },
    config: {
      apiUrl,
      domain: 'adit.localhost',
      operatorAccount: () => operator,
      region: 'us',
      idpUrl: () => 'https://idp.adit.localhost:8443',
      httpsPort: () => 8443,
      bindingIngress: () => 'kubernetes-bindings.adit.localhost:8443',
      tcpHost: 'localhost',
      tcpPorts: [20_000, 20_999],
      nameSpans: { graceMs: 60_000, cooldownMs: 86_400_000 },
      acme: false,
      rateLimit: 0,
      version: '0.0.0-test',
      ...options.config,
    },
    clock,
    log,
    applied: options.applied,
  })
  if (options.dashboard) dashboard.mount(api)
  await restrictions.start()
  const address = await api.listen({ host: '127.0.0.1', port: 0 })
  url = `http://127.0.0.1:${address.port}`
  t.after(async () => {
    await api.close()
    restrictions.stop()
    await store.close()
  })

  let accounts = (await store.scan('accounts', { limit: 1000 })).length
  async function createTestAccount(): Promise<NewAccount> {
    accounts += 1
    const name = `account-${accounts}`
    return createAccount(store, { name, email: `${name}@example.com`, clock })
  }

  return async () => {
    const [account, otherAccount] = [await createTestAccount(), await createTestAccount()]
    operator ||= account.accountId
    const client = (key: string | undefined) => createClient(url, key)
    return {
      url,
      http: api.http,
      store,
      dataDir,
      account,
      otherAccount: otherAccount,
      call: client(account.apiKey.reveal()),
      callAsOther: client(otherAccount.apiKey.reveal()),
      client,
      close: api.close,
    }
  }
}

/** Keeps connections, as fetch does, which takes three times the CPU time for a call. */
const connections = new Agent({ keepAlive: true })

/** A client with this API key, or without one. */
export function createClient(url: string, key: string | undefined): ApiClient {
  const send = async (method: string, path: string, options: CallOptions = {}): Promise<TestResponse> => {
    const authorization = 'key' in options ? options.key : key
    const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
    const outgoing = request(path.startsWith('http') ? path : `${url}${path}`, {
      method,
      agent: connections,
      headers: {
        ...(authorization === undefined ? {} : { authorization: `Bearer ${authorization}` }),
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...options.headers,
      },
    })
    outgoing.end(body)
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    const received = await text(response)
    const headers = new Headers(
      Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      ),
    )
    const json = (headers.get('content-type') ?? '').includes('json')
    return {
      status: response.statusCode!,
      headers,
      body: json && received !== '' ? JSON.parse(received) : received,
    }
  }
  return Object.assign(send, {
    async create(path: string, body: unknown) {
      const response = await send('POST', path, { body })
      assert.equal(response.status, 201, JSON.stringify(response.body))
      return response.body
    },
  })
}
