import type { TestContext } from 'node:test'
import { Secret } from '../../base/values/secret.ts'
import { Agent, type AgentOptions } from '../agent.ts'
import { type AgentLog, createAgentLog } from '../log/log.ts'
import type { AgentSettings } from '../settings.ts'
import type { TestGateway } from './gateway.ts'

/** Settings for an agent of a test gateway, with a short heartbeat. */
export function testSettings(gateway: TestGateway, changes: Partial<AgentSettings> = {}): AgentSettings {
  return {
    location: {
      host: 'localhost',
      port: gateway.port,
      authtoken: new Secret(gateway.token),
      cas: [gateway.ca],
      loopback: true,
    },
    dial: { timeoutMs: 2000, proxy: undefined, resolvers: [], interface: undefined, crl: undefined },
    heartbeat: { intervalMs: 1000, toleranceMs: 1000 },
    legs: 4,
    metadata: 'of a test',
    captureBytes: 10_000_000,
    redact: [],
    remoteManagement: true,
    updates: { check: true, channel: 'stable', url: undefined, key: undefined },
    web: { host: '127.0.0.1', port: 0, explicit: true, allowHosts: [] },
    ...changes,
  }
}

/** Creates a log that records its lines. */
export function createRecordingLog(): { log: AgentLog; lines: string[] } {
  const lines: string[] = []
  return {
    lines,
    log: createAgentLog({ output: (line) => lines.push(line), format: 'logfmt', level: 'debug' }),
  }
}

/** Starts an agent and closes it after the test. `ended` settles when the agent stops by itself. */
export function startAgent(t: TestContext, gateway: TestGateway, options: Partial<AgentOptions> = {}) {
  const { log, lines } = createRecordingLog()
  const agent = new Agent({ settings: testSettings(gateway), log, ...options })
  const ended = agent.run()
  ended.catch(() => {})
  t.after(() => agent.close())
  return { agent, ended, lines }
}
