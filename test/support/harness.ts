import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type AgentProcess, cleanEnv, startProgram } from './agent-process.ts'
import { eventually } from './eventually.ts'
import { WORKER_FLAGS } from './free-ports.ts'
import { type Credentials, joinFlags, TWO_NODES } from './platform.ts'
import { createTestDatabase } from './postgres.ts'
import { STARTED } from './server-process.ts'
import { createTempDir } from './temp-dir.ts'

/** A server and agents as separate processes, on a data directory and ports that survive restarts. */
export interface Harness {
  readonly credentials: Credentials
  readonly httpPort: number
  readonly agentPort: number
  server: AgentProcess
  /** Restarts the server on the same data directory and ports. */
  restart(): Promise<void>
  startAgent(args: readonly string[], env?: Record<string, string>, webAddr?: string): AgentProcess
  /** Sends one GET to the public listener; the caller reads the body. */
  get(host: string, path?: string): Promise<IncomingMessage>
  /** Lists a collection of the management API. */
  list(path: string): Promise<unknown[]>
}

const LISTENERS = ['api', 'http', 'https', 'agent', 'ssh', 'dns']
const listenOn = (ports: readonly string[]) =>
  LISTENERS.flatMap((name, index) => [`--${name}-addr`, `127.0.0.1:${ports[index] ?? 0}`])

/** Starts `adit server` with an empty home directory; all processes end with the test. `serverEnv`: more variables of the server. */
export async function startHarness(
  t: TestContext,
  givenFlags: readonly string[] = [],
  serverEnv: Readonly<Record<string, string>> = {},
): Promise<Harness> {
  const env = cleanEnv(createTempDir())
  const twoNodes = TWO_NODES && !givenFlags.includes('--database-url')
  const flags = twoNodes ? [...givenFlags, '--database-url', (await createTestDatabase(t)).url] : givenFlags
  const startNode = async (ports: readonly string[], nodeEnv = env, nodeFlags = flags) => {
    const args = ['server', '--log-level', 'error', ...listenOn(ports), ...WORKER_FLAGS, ...nodeFlags]
    const node = startProgram(t, args, { env: { ...nodeEnv, ...serverEnv } })
    const describe = () => `the server is not ready:\n${node.stdout}\n--\n${node.stderr}`
    const isReady = () => STARTED.test(node.stdout) || node.child.exitCode !== null
    await eventually(isReady, describe)
    assert.equal(node.child.exitCode, null, describe())
    return node
  }
  const startServer = (ports: readonly string[]) => startNode(ports)
  const server = await startServer([])
  const credentials = await readCredentials(env)
  if (twoNodes) {
    // Agents use the other node.
    const dataDir = env.ADIT_DATA_DIR!
    const otherEnv = cleanEnv(createTempDir())
    await startNode([], otherEnv, [...flags, ...joinFlags({ dataDir, credentials })])
    env.ADIT_CONNECT_URL = (await readCredentials(otherEnv)).agent_addr
    env.ADIT_CONNECT_CAS = credentials.ca_file
    env.ADIT_AUTHTOKEN = credentials.authtoken
  }
  const portOf = (url: string | undefined) => /:(\d+)$/.exec(url ?? '')?.[1] ?? '0'
  const ports = [
    credentials.api_url,
    credentials.http_url,
    credentials.https_url,
    credentials.agent_addr,
    credentials.ssh_addr,
  ].map(portOf)
  const httpPort = Number(ports[1])
  const harness: Harness = {
    credentials,
    httpPort,
    agentPort: Number(ports[3]),
    server,
    async restart() {
      harness.server = await startServer(ports)
    },
    startAgent: (args, extraEnv = {}, webAddr = 'false') =>
      startProgram(t, [...args, `--web-addr=${webAddr}`], { env: { ...env, ...extraEnv } }),
    async get(host, path = '/') {
      const headers = { Host: `${host}:${httpPort}` }
      const request = get({ host: '127.0.0.1', port: httpPort, path, headers, agent: false })
      const [response] = await once(request, 'response')
      return response
    },
    async list(path) {
      const headers = { authorization: `Bearer ${credentials.api_key}`, 'service-version': '2' }
      const response = await fetch(`${credentials.api_url}${path}`, { headers })
      return ((await response.json()) as Record<string, unknown[]>)[path.slice(1)]!
    },
  }
  return harness
}

async function readCredentials(env: NodeJS.ProcessEnv): Promise<Credentials> {
  return JSON.parse(await readFile(join(env.ADIT_DATA_DIR!, 'credentials.json'), 'utf8'))
}

/** Reads the body as text; rejects if it is truncated. */
export async function readText(response: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  return body
}

/** Scales a promised time by the load of the machine. */
export function scaleForLoad(milliseconds: number): number {
  return milliseconds * Math.max(1, loadavg()[0]! / availableParallelism())
}
