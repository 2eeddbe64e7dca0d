import type { TestContext } from 'node:test'
import { createSecureContext } from 'node:tls'
import { createTestCa } from '../../../test/support/test-ca.ts'
import { compileAcl } from '../../auth/index.ts'
import { silentLog } from '../../base/process/log.ts'
import { systemClock } from '../../base/values/clock.ts'
import { Secret } from '../../base/values/secret.ts'
import { type LiveSession, Registry, type TunnelSpec } from '../../sessions/index.ts'
import { Cluster, type ClusterLimits, type ClusterOptions } from '../cluster.ts'
import { NODE_NAME } from '../link.ts'
import type { ReceivePublished } from '../wire.ts'

/** The secret of the test nodes' database. */
export const SECRET = Buffer.alloc(32, 7)
export const ca = await createTestCa()
const identity = await ca.issue(NODE_NAME)

/** A membership list without a database. */
export function createNodes() {
  const listed = new Map<string, string>()
  return {
    /** Nodes that the list omits. */
    hidden: new Set<string>(),
    /** Addresses that override those of the nodes. */
    via: new Map<string, string>(),
    async heartbeat({ id, address }: { id: string; address: string | undefined }) {
      if (address !== undefined) listed.set(id, this.via.get(id) ?? address)
      return [...listed]
        .filter(([other]) => other !== id && !this.hidden.has(other))
        .map(([other, address]) => ({
          id: other,
          address,
          agentAddress: `${other}.example.com:4443`,
        }))
    },
    list: async () => [],
    async leave(id: string) {
      listed.delete(id)
    },
  }
}

export interface NodeOptions {
  secret?: Buffer
  advertise?: string
  port?: number
  limits?: Partial<ClusterLimits>
  supersededMs?: number
  receive?: ReceivePublished
  counts?: boolean
  history?: ClusterOptions['history']
  /** The registry of its gateway, if it has one. */
  registry?: Registry
}

/** A node without public listeners: a registry and its links to peers. */
export async function startNode(
  t: TestContext,
  nodes: ClusterOptions['nodes'],
  id: string,
  options: NodeOptions = {},
) {
  const { secret = SECRET, advertise, port = 0, limits = {}, supersededMs = 50 } = options
  const registry =
    options.registry ??
    new Registry({ ports: { acquire: async (port) => port ?? 1, release() {} }, supersededMs })
  const cluster = new Cluster({
    ...{ nodes, id, registry, clock: systemClock, log: silentLog },
    secret: new Secret(secret),
    secureContext: () => createSecureContext(identity),
    authorityPem: ca.caPem,
    listen: { host: '127.0.0.1', port },
    advertise,
    agentAddress: () => `${id}.example.com:4443`,
    ...(options.receive && { receive: options.receive, counts: options.counts ?? false }),
    history: options.history,
    limits: { beatMs: 20, renewMs: 20, introductionMs: 500, ...limits },
  })
  registry.publishTo(cluster)
  await cluster.start()
  let stopping: Promise<void> | undefined
  const stop = () => {
    stopping ??= cluster.stop().then(() => registry.close())
    return stopping
  }
  t.after(stop)
  return { id, registry, cluster, stop }
}

export interface TestSession extends LiveSession {
  /** The reasons it was ended with. */
  readonly ended: string[]
}

/** A session of an agent that by default has no other. */
export function session(id: string, overrides: { clientId?: string; fence?: number } = {}): TestSession {
  const ended: string[] = []
  return {
    ...{ id, accountId: 'ac_1', credentialId: 'cr_1', ownerId: 'usr_1', clientId: id, transport: 'adit/v2' },
    ...{ agentVersion: '1', os: 'linux', ip: '192.0.2.1', region: 'us', metadata: 'm', startedAt: 5 },
    ...overrides,
    ended,
    state: 'connecting',
    acl: compileAcl(['*']),
    end: (reason) => void ended.push(reason),
    tunnelEnded() {},
    probe: async () => 'alive',
    command: async () => ({ done: true }),
  }
}

/** A tunnel at `<name>.example.com`. */
export function tunnelSpec(name: string): TunnelSpec {
  const host = `${name}.example.com`
  return {
    bindId: name,
    address: { proto: 'http', host, port: 80, url: `http://${host}`, hostport: `${host}:80` },
    ...{ name: 'n', description: '', metadata: '', forwardsTo: 'x', forwardsProto: '' },
    poolingEnabled: false,
    poolingWeight: 1,
    options: { proxyProto: 0 },
    open() {
      throw new Error('The upstream is unavailable.')
    },
  }
}
