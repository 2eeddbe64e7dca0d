import type { TestContext } from 'node:test'
import { silentLog } from '../../base/process/log.ts'
import { Edge, type EdgeConfig, type EdgeDependencies } from '../edge.ts'
import { TestTunnels } from './tunnels.ts'

/** Short enough for tests to hit every timeout, long enough for a busy machine. */
export const shortLimits = {
  handshake: 600,
  head: 600,
  idle: 800,
  progress: 1_500,
  response: 1_500,
  linger: 400,
  halfClosed: 400,
  halfWebSocket: 600,
  closedWebSocket: 400,
  upstreamIdle: 800,
  goaway: 200,
  drainIdle: 200,
  drain: 1_500,
}

/** An edge on free local ports, stopped after the test. */
export async function startEdge(
  t: TestContext,
  tunnels = new TestTunnels(),
  config: Partial<EdgeConfig> = {},
  dependencies: Partial<EdgeDependencies> = {},
): Promise<{ edge: Edge; tunnels: TestTunnels; port: number; tlsPort: number }> {
  const local = { host: '127.0.0.1', port: 0 }
  const edge = new Edge({
    tunnels,
    log: silentLog,
    certificates: () => undefined,
    ...dependencies,
    config: {
      http: local,
      https: local,
      tcp: { host: '127.0.0.1', first: 21000, last: 29999 },
      tickMs: 50,
      ...config,
      limits: { drain: 50, ...config.limits },
    },
  })
  await edge.start()
  t.after(() => edge.stop())
  return { edge, tunnels, port: edge.addresses.http?.port ?? 0, tlsPort: edge.addresses.https?.port ?? 0 }
}
