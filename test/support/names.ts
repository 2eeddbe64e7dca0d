import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { createOutbound } from '../../src/base/outbound/outbound.ts'
import { createLog, silentLog } from '../../src/base/process/log.ts'
import { type Clock, systemClock } from '../../src/base/values/clock.ts'
import {
  type Certs,
  type CertsOptions,
  createAuthority,
  createCerts,
  createResolver,
  loadAuthority,
} from '../../src/certs/index.ts'
import { compileZones, createDns, createZones, nameServerNames, type ZoneData } from '../../src/dns/index.ts'
import type { Store } from '../../src/store/index.ts'
import { startApi, type TestApi } from './api.ts'
import { type Pebble, startPebble } from './pebble.ts'

export const BASE = 'adit.test'

/** The parts of a platform that deal with names: API, DNS, certificates, and a real authority that validates them. */
export interface NamesPlatform {
  readonly api: TestApi
  readonly certs: Certs
  readonly pebble: Pebble
  readonly dnsPort: number
  readonly httpPort: number
  /** Serves zones of users next to the platform's own, as if this were all of DNS. */
  serve(...zones: ZoneData[]): void
  /** The platform's clock. */
  readonly clock: MovableClock
  /** Another node on the same store. */
  node(options?: Partial<CertsOptions>): Promise<Certs>
}

/** A wall clock that a test can set; the monotonic clock is the machine's. */
export interface MovableClock extends Clock {
  offset: number
}

export function createMovableClock(): MovableClock {
  return {
    offset: 0,
    now() {
      return systemClock.now() + this.offset
    },
    monotonic: () => systemClock.monotonic(),
  }
}

export const testLog = process.env.TEST_LOG ? createLog('debug') : silentLog

/** Short delays for tests; the steps are the same. */
export const TIMINGS = {
  propagationDelay: 0,
  dnsVisibility: 3000,
  providerPropagation: 3000,
  validation: 30_000,
}

export async function startNames(
  t: TestContext,
  options: {
    databaseUrl?: string
    certs?: Partial<CertsOptions>
    pebble?: { dnsPort?: number; rejectNonces?: number; validitySeconds?: number; sleepSeconds?: number }
    acme?: boolean
    base?: string
  } = {},
): Promise<NamesPlatform> {
  const clock = createMovableClock()
  const base = options.base ?? BASE
  const acmeEnabled = options.acme ?? true
  const api = await startApi(t, {
    ...(options.databaseUrl === undefined ? {} : { databaseUrl: options.databaseUrl }),
    config: { domain: base, acme: acmeEnabled },
    clock,
  })
  const extra: ZoneData[] = []
  let extraTable = compileZones(extra)
  const nodes: Certs[] = []
  const zones = createZones({
    store: api.store,
    base,
    addresses: ['127.0.0.1'],
    inputs: {
      regions: () => nodes[0]!.regions(),
      dnsChallenges: () => nodes[0]!.dnsChallenges(),
      caaIdentities: () => nodes[0]!.caaIdentities(),
      watch: (changed) => nodes[0]!.watch(changed),
    },
    log: testLog,
  })
  const dns = createDns({
    table: () => new Map([...extraTable, ...zones.table()]),
    addr: { host: '127.0.0.1', port: 0 },
    log: testLog,
    rateLimit: false,
  })
  await dns.start()
  const responder = createServer((request, response) => {
    const token = request.url?.split('/.well-known/acme-challenge/')[1] ?? ''
    const host = (request.headers.host ?? '').split(':')[0]!
    const keyAuthorization = nodes
      .map((node) => node.httpChallenge(token, host))
      .find((value) => value !== undefined)
    response.writeHead(keyAuthorization === undefined ? 404 : 200).end(keyAuthorization)
  }).listen(0, '127.0.0.1')
  await once(responder, 'listening')
  // Registered first to run last: parts stop before their dependencies.
  t.after(async () => {
    await zones.stop()
    await dns.stop()
    responder.closeAllConnections()
    responder.close()
  })
  const httpPort = (responder.address() as AddressInfo).port
  const dnsPort = dns.address.port
  const pebble = await startPebble(t, { dnsPort, httpPort, ...options.pebble })
  const authority = await loadAuthority(await createAuthority())

  async function node(overrides: Partial<CertsOptions> = {}): Promise<Certs> {
    const outbound = createOutbound({ allow: ['127.0.0.0/8', '::1/128'], extraCa: [pebble.ca] })
    const certs = createCerts({
      store: api.store,
      authority,
      base,
      region: 'us',
      addresses: ['127.0.0.1'],
      acme: acmeEnabled ? { directory: pebble.directory, email: 'operator@adit.test' } : undefined,
      outbound,
      resolver: createResolver([`127.0.0.1:${dnsPort}`]),
      nameServers: nameServerNames(base),
      log: testLog,
      clock,
      leaseMs: 5000,
      timings: TIMINGS,
      ...options.certs,
      ...overrides,
    })
    nodes.push(certs)
    await certs.start()
    t.after(async () => {
      await certs.stop()
      await outbound.close()
    })
    return certs
  }

  const certs = await node()
  await zones.start()
  return {
    api,
    certs,
    pebble,
    dnsPort,
    httpPort,
    clock,
    node,
    serve(...overrides) {
      extra.push(...overrides)
      extraTable = compileZones(extra)
    },
  }
}

/** A user's zone with these records. */
export function userZone(origin: string, records: ZoneData['records']): ZoneData {
  return {
    origin,
    soa: {
      mname: `ns.${origin}`,
      rname: `hostmaster.${origin}`,
      serial: 1,
      refresh: 7200,
      retry: 900,
      expire: 1_209_600,
      minimum: 1,
    },
    ns: [`ns.${origin}`],
    ttl: 1,
    records,
  }
}

/** The rows of a kind in all accounts. */
export async function scanRows(store: Store, kind: string) {
  return store.scan(kind, { limit: 500 })
}
