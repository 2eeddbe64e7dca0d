import type { RequestListener } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import type { TestContext } from 'node:test'
import { sendHttps, type TestRequest, type TestResponse } from '../../../test/support/https-client.ts'
import { startHttp } from '../../../test/support/local-server.ts'
import { readPolicy } from '../../policy/index.ts'
import type { EndpointOptions } from '../contracts/tunnels.ts'
import type { EdgeConfig, EdgeDependencies } from '../edge.ts'
import { createTestCertificates } from './certificates.ts'
import { startEdge } from './edge.ts'
import { echo } from './https-edge.ts'
import { createLocalTunnel, TestTunnels } from './tunnels.ts'

export const POLICY_HOST = 'app.adit.localhost'

/** The versions of HTTP that a policy has to work with. */
export const HTTP_VERSIONS = ['HTTP/1.1', 'HTTP/2'] as const

export type HttpVersion = (typeof HTTP_VERSIONS)[number]

/** An agent's https endpoint with a policy. */
export async function startPolicyEndpoint(
  t: TestContext,
  trafficPolicy: string,
  {
    listener = echo,
    options = {},
    dependencies = {},
    config = {},
  }: {
    listener?: RequestListener
    options?: Partial<EndpointOptions>
    dependencies?: Partial<EdgeDependencies>
    config?: Partial<EdgeConfig>
  } = {},
) {
  // As a bind does: a mistake in the policy of a test should read as one.
  readPolicy(trafficPolicy, { protocol: 'https', kind: 'endpoint' })
  const upstream = await startHttp(t, listener)
  const tunnel = createLocalTunnel(upstream, {
    proto: 'https',
    hostport: `${POLICY_HOST}:443`,
    options: { ...options, trafficPolicy },
  })
  const tunnels = new TestTunnels().add(POLICY_HOST, tunnel)
  const { ca, lookup } = await createTestCertificates('adit.localhost')
  const { edge, tlsPort } = await startEdge(t, tunnels, config, { certificates: lookup, ...dependencies })
  const ask = (request: Partial<TestRequest> = {}, version: HttpVersion = 'HTTP/1.1') =>
    sendPolicyRequest(tlsPort, ca, { host: POLICY_HOST, ...request }, version)
  return { edge, tunnel, ca, tlsPort, ask }
}

/** Sends a request over TLS with this version of HTTP. */
export function sendPolicyRequest(
  port: number,
  ca: string,
  request: TestRequest,
  version: HttpVersion,
): Promise<TestResponse> {
  return version === 'HTTP/1.1' ? sendHttps(port, ca, request) : sendHttp2(port, ca, request)
}

/** Sends a request over HTTP/2 on a new connection. */
function sendHttp2(port: number, ca: string, request: TestRequest): Promise<TestResponse> {
  const { host, path = '/', method = 'GET', headers = {}, body, tls = {} } = request
  return new Promise((resolve) => {
    const session = connectHttp2(`https://${host}:${port}`, {
      ca,
      host: '127.0.0.1',
      servername: host,
      ...tls,
    } as object)
    const chunks: Buffer[] = []
    let received: Record<string, string | string[] | undefined> = {}
    const finish = (error: string) => {
      session.destroy()
      const content = Buffer.concat(chunks)
      const status = error === '' ? Number(received[':status'] ?? 0) : 0
      resolve({ status, headers: received, body: content, text: content.toString(), error })
    }
    session.on('error', (error) => finish(error.message))
    const stream = session.request(
      { ':path': path, ':method': method, ':authority': host, ...headers },
      { endStream: body === undefined },
    )
    stream.on('response', (responseHeaders) => {
      received = responseHeaders as typeof received
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', (error) => finish(error.message))
    stream.on('close', () => finish(received[':status'] === undefined ? 'no response' : ''))
    if (body !== undefined) stream.end(body)
  })
}
