import { createServer as createHttpServer } from 'node:http'
import { connect, createServer } from 'node:net'
import type { TestContext } from 'node:test'
import { type ConnectionOptions, createServer as createTlsServer, connect as tlsConnect } from 'node:tls'
import ngrok from '@ngrok/ngrok'
import { createSelfSigned } from '../../src/certs/index.ts'
import { sendHttps, type TestRequest, type TestResponse } from '../support/https-client.ts'
import { listen } from '../support/local-server.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'

/** A platform with upstream services, and functions that create edges and send requests to them. */
export type EdgeHarness = Awaited<ReturnType<typeof startEdgeHarness>>

let edgeCount = 0

/** Starts a platform whose edges may reach local services. */
export async function startEdgeHarness(t: TestContext) {
  const platform = await startPlatform(t, ['--outbound-allow', '127.0.0.1'])
  const { call, caPem } = platform
  const httpsPort = Number(new URL(platform.credentials.https_url).port)
  const [one, two] = [await startService(t, 'one'), await startService(t, 'two')]
  const [rawOne, rawTwo] = [await startRawService(t, 'one'), await startRawService(t, 'two')]
  const backend = async (port: number) =>
    (await call.create('/backends/static', { address: `127.0.0.1:${port}` })).id as string
  const backends = {
    one: await backend(one),
    two: await backend(two),
    rawOne: await backend(rawOne),
    rawTwo: await backend(rawTwo),
    /** No service listens there. */
    none: await backend(1),
  }

  async function reserve(): Promise<string> {
    const domain = `edge-${edgeCount++}.adit.localhost`
    await call.create('/reserved_domains', { domain })
    return domain
  }

  /** Creates an HTTPS edge with one route, by default to service one. */
  async function httpsEdge(route: Record<string, unknown> = { backend: { backend_id: backends.one } }) {
    const host = await reserve()
    const edge = await call.create('/edges/https', { hostports: [`${host}:443`] })
    const createdRoute = await call.create(`/edges/https/${edge.id}/routes`, {
      match_type: 'path_prefix',
      match: '/',
      ...route,
    })
    const ask = (options: Partial<TestRequest> = {}): Promise<TestResponse> =>
      sendHttps(httpsPort, caPem, { host, ...options })
    return {
      path: `/edges/https/${edge.id}`,
      route: `/edges/https/${edge.id}/routes/${createdRoute.id}`,
      host,
      ask,
    }
  }

  async function tlsEdge(modules: Record<string, unknown>) {
    const host = await reserve()
    const edge = await call.create('/edges/tls', { hostports: [`${host}:443`], ...modules })
    /** Returns what the service sends to such a client, or `no` if the connection fails. */
    const probe = (options: ConnectionOptions = {}) =>
      probeSocket(
        tlsConnect({
          port: httpsPort,
          host: '127.0.0.1',
          servername: host,
          rejectUnauthorized: false,
          ...options,
        }),
        'secureConnect',
      )
    return { path: `/edges/tls/${edge.id}`, probe }
  }

  async function tcpEdge(modules: Record<string, unknown>) {
    const { addr } = await call.create('/reserved_addrs', {})
    const edge = await call.create('/edges/tcp', { hostports: [addr], ...modules })
    const probe = () => probeSocket(connect(Number(addr.split(':')[1]), '127.0.0.1'), 'connect')
    return { path: `/edges/tcp/${edge.id}`, probe }
  }

  const session = await connectAgent(t, platform)

  /** Serves service two at a reserved domain with an endpoint configuration, through an agent. */
  async function httpsEndpoint(credential?: string) {
    const host = `edge-${edgeCount++}.adit.localhost`
    const { id } = await call.create('/endpoint_configurations', { type: 'https' })
    await call.create('/reserved_domains', { domain: host, https_endpoint_configuration_id: id })
    const listener = session.httpEndpoint().domain(host)
    if (credential !== undefined) {
      const [user = '', password = ''] = credential.split(':')
      listener.basicAuth(user, password)
    }
    await listener.listenAndForward(`http://127.0.0.1:${two}`)
    const ask = (options: Partial<TestRequest> = {}): Promise<TestResponse> =>
      sendHttps(httpsPort, caPem, { host, ...options })
    return { path: `/endpoint_configurations/${id}`, host, ask }
  }

  /** Serves raw service two at a reserved address with an endpoint configuration, through an agent. */
  async function tcpEndpoint() {
    const { id } = await call.create('/endpoint_configurations', { type: 'tcp' })
    const { addr } = await call.create('/reserved_addrs', { endpoint_configuration_id: id })
    await session.tcpEndpoint().remoteAddr(addr).listenAndForward(`tcp://127.0.0.1:${rawTwo}`)
    const probe = () => probeSocket(connect(Number(addr.split(':')[1]), '127.0.0.1'), 'connect')
    return { path: `/endpoint_configurations/${id}`, probe }
  }

  return {
    t,
    platform,
    call,
    backends,
    ports: { one, two },
    httpsEdge,
    tlsEdge,
    tcpEdge,
    httpsEndpoint,
    tcpEndpoint,
  }
}

/** Starts an HTTP service that returns its name and the request headers, and 500 for `/fails`. */
async function startService(t: TestContext, name: string): Promise<number> {
  const server = createHttpServer((request, response) => {
    request.resume()
    request.on('end', () => {
      response.statusCode = request.url === '/fails' ? 500 : 200
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ name, headers: request.headers, filler: 'x'.repeat(1000) }))
    })
  })
  return listen(t, server)
}

/** Starts a TCP service that sends its name, and terminates TLS if the client speaks it. */
async function startRawService(t: TestContext, name: string): Promise<number> {
  const { certificatePem, privateKeyPem } = await createSelfSigned({ commonName: name })
  const secure = createTlsServer({ cert: certificatePem, key: privateKeyPem.reveal() }, (socket) => {
    socket.on('error', () => {})
    socket.end(`${name} in TLS`)
  })
  secure.on('tlsClientError', () => {})
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (firstChunk: Buffer) => {
      if (firstChunk[0] !== 0x16) {
        socket.end(name)
        return
      }
      socket.pause()
      socket.unshift(firstChunk)
      secure.emit('connection', socket)
    })
  })
  return listen(t, server)
}

function probeSocket(socket: ReturnType<typeof connect>, ready: string): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const timer = setTimeout(() => socket.destroy(), 5000)
    // The blank line completes a request head, so an HTTP parser does not wait for more.
    socket.once(ready, () => socket.write('hello\r\n\r\n'))
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(text === '' ? 'no' : text)
    })
  })
}

/** Connects the official SDK. */
async function connectAgent(t: TestContext, { credentials }: TestPlatform) {
  const builder = new ngrok.SessionBuilder()
  builder.authtoken(credentials.authtoken).serverAddr(credentials.agent_addr).rootCas(credentials.ca_file)
  const session = await builder.connect()
  t.after(() => session.close())
  return session
}

/** Connects the official SDK and forwards connections for these labels to the port. */
export async function connectLabelled(
  t: TestContext,
  platform: TestPlatform,
  port: number,
  labels: Record<string, string>,
): Promise<void> {
  const listener = (await connectAgent(t, platform)).labeledListener()
  for (const [key, value] of Object.entries(labels)) listener.label(key, value)
  await listener.listenAndForward(`http://127.0.0.1:${port}`)
}
