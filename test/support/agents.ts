import { once } from 'node:events'
import { get } from 'node:http'
import type { TestContext } from 'node:test'
import { type AgentHandle, type ConnectOptions, connect } from '../../src/agent/index.ts'
import type { CaptureView } from '../../src/agent/local-api/page-data.ts'
import { cleanEnv } from './agent-process.ts'
import type { TestPlatform } from './platform.ts'
import { createTempDir } from './temp-dir.ts'

/** A server that has just been started may be slow on a machine that is busy with other tests. */
const START_TIMEOUT_MS = 60_000

/** Starts an agent that connects to one node. */
export async function startAgent(
  t: TestContext,
  node: Pick<TestPlatform, 'credentials'>,
  authtoken: string = node.credentials.authtoken,
  {
    config,
    inspector,
    env = {},
  }: Pick<ConnectOptions, 'config' | 'inspector'> & { env?: Record<string, string> } = {},
): Promise<AgentHandle> {
  const agent = await connect({
    ...(config !== undefined && { config }),
    ...(inspector !== undefined && { inspector }),
    env: cleanEnv(createTempDir(), env),
    connectUrl: node.credentials.agent_addr,
    authtoken,
    rootCas: node.credentials.ca_file,
    timeoutMs: START_TIMEOUT_MS,
  })
  t.after(() => agent.close())
  return agent
}

/** Requests a host name on a node's plain HTTP listener. */
export async function fetchHost(
  node: Pick<TestPlatform, 'credentials'>,
  host: string,
  path = '/',
): Promise<{ status: number; body: string }> {
  const port = Number(new URL(node.credentials.http_url).port)
  const request = get({ host: '127.0.0.1', port, path, headers: { Host: `${host}:${port}` }, agent: false })
  const [response] = await once(request, 'response')
  let body = ''
  for await (const chunk of response) body += chunk
  return { status: response.statusCode, body }
}

/** What the inspector of an agent shows of the policies that acted on its requests, by path, once all of them have ended. */
export async function readPolicyActions(agent: AgentHandle): Promise<Record<string, string[]>> {
  const response = await fetch(`${agent.inspectorUrl}/api/requests/http`)
  const { requests } = (await response.json()) as { requests: CaptureView[] }
  return Object.fromEntries(
    requests.map(({ request, policy = [] }) => [
      request.uri,
      policy.map(
        ({ endpoint, phase, rule, name, action, error }) =>
          `${endpoint} ${phase} ${rule} ${name} ${action}${error === undefined ? '' : `: ${error}`}`,
      ),
    ]),
  )
}

export function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1))
}
