import { type IncomingMessage, type RequestListener, request } from 'node:http'
import type { TestContext } from 'node:test'
import { startHttp } from '../../../test/support/local-server.ts'
import type { AgentOptions } from '../agent.ts'
import { type LocalApi, startLocalApi } from '../local-api/local-api.ts'
import type { AgentSettings } from '../settings.ts'
import { startAgent, testSettings } from './agent.ts'
import { TestGateway } from './gateway.ts'

/** The response of one call. */
export interface LocalApiResponse {
  status: number
  headers: IncomingMessage['headers']
  text: string
  json: Record<string, unknown>
}

/** Makes one HTTP call with exactly these headers. */
export function call(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<LocalApiResponse> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
    const allHeaders = { ...headers, ...length }
    const outgoing = request(
      { hostname, port, method, path, headers: allHeaders, agent: false },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => {
          const json = /json/.test(response.headers['content-type'] ?? '') ? JSON.parse(text) : {}
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json })
        })
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** Starts a gateway, and an agent with its local API. */
export async function startAgentWithApi(
  t: TestContext,
  options: Partial<AgentOptions> = {},
  changes: Partial<AgentSettings> = {},
) {
  const gateway = await TestGateway.start(t)
  const { agent, lines } = startAgent(t, gateway, { settings: testSettings(gateway, changes), ...options })
  const api: LocalApi = await startLocalApi(agent, agent.settings.web!)
  t.after(() => api.close())
  const json = { 'Content-Type': 'application/json' }
  return {
    gateway,
    agent,
    api,
    lines,
    get: (path: string) => call(api.url, 'GET', path),
    post: (path: string, body: unknown) => call(api.url, 'POST', path, json, JSON.stringify(body)),
    put: (path: string, body: unknown) => call(api.url, 'PUT', path, json, JSON.stringify(body)),
    delete: (path: string, body?: unknown) =>
      call(
        api.url,
        'DELETE',
        path,
        body === undefined ? {} : json,
        body === undefined ? undefined : JSON.stringify(body),
      ),
  }
}

/** Starts a local HTTP service; returns its port as a string. */
export async function startHttpService(t: TestContext, listener: RequestListener): Promise<string> {
  return String(await startHttp(t, listener))
}
