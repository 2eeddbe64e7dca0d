import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls'
import { type WebSocket as Client, WebSocket, WebSocketServer } from 'ws'
import { sendHttp, sendHttps, type TestRequest } from '../support/https-client.ts'
import { listen } from '../support/local-server.ts'
import type { TlsIdentity } from '../support/test-ca.ts'
import { PUBLIC_ADDRESS } from './programs.ts'

export const VISITOR = '127.0.0.5'
export const OTHER_VISITOR = '127.0.0.6'

/** What a visitor may write to pass for somebody else. */
export const FORGED = {
  'x-forwarded-for': '6.6.6.6',
  'x-forwarded-proto': 'gopher',
  'x-real-ip': '6.6.6.6',
  forwarded: 'for=6.6.6.6;proto=gopher',
}

/** An HTTP service that says who the visitor is, in responses and in the first message of a WebSocket. */
export async function startHttpService(t: TestContext): Promise<number> {
  const describe = (headers: NodeJS.Dict<string | string[]>) =>
    `${headers['x-forwarded-for']} ${headers['x-forwarded-proto']}`
  const server = createHttpServer((request, response) => response.end(describe(request.headers)))
  new WebSocketServer({ server }).on('connection', (socket: Client, request) =>
    socket.send(describe(request.headers)),
  )
  return listen(t, server)
}

/** A service for connections that begin with a PROXY protocol header, version 1: it says whom that names. */
export function startRawService(t: TestContext, identity?: TlsIdentity): Promise<number> {
  const greet = (socket: Socket, header: string) => socket.end(header.split(' ')[2] ?? '')
  const secure = identity && createTlsServer(identity)
  return listen(
    t,
    createServer((socket) => {
      socket.once('data', (chunk: Buffer) => {
        const end = chunk.indexOf('\r\n') + 2
        const header = chunk.toString('latin1', 0, end)
        if (secure === undefined) {
          greet(socket, header)
          return
        }
        socket.pause()
        socket.unshift(chunk.subarray(end))
        secure.once('secureConnection', (tlsSocket) => greet(tlsSocket, header))
        secure.emit('connection', socket)
      })
    }),
  )
}

/** Requests of a visitor to a port of the proxy. */
export function createVisitor(localAddress: string, ca: string) {
  const ends = { from: localAddress, to: PUBLIC_ADDRESS }
  const target = { host: PUBLIC_ADDRESS, localAddress }
  return {
    http: (port: number, request: TestRequest) => sendHttp(port, { ...request, ...ends }),

    https: (port: number, request: TestRequest) => sendHttps(port, ca, { ...request, ...ends }),

    async http2(port: number, host: string): Promise<string> {
      const session = connectHttp2(`https://${host}:${port}`, {
        createConnection: () => tlsConnect({ ...target, port, servername: host, ca, ALPNProtocols: ['h2'] }),
      })
      try {
        return await text(session.request({ ':path': '/', ...FORGED }))
      } finally {
        session.close()
      }
    },

    async webSocket(port: number, host: string): Promise<string> {
      const options = { headers: { ...FORGED, host: `${host}:${port}` }, servername: host, ca, localAddress }
      const socket = new WebSocket(`wss://${PUBLIC_ADDRESS}:${port}`, options)
      const [message] = await once(socket, 'message')
      socket.close()
      await once(socket, 'close')
      return String(message)
    },

    tcp: (port: number) => exchange(connect({ ...target, port })),

    passthrough: (port: number, host: string, serviceCa: string) =>
      exchange(tlsConnect({ ...target, port, servername: host, ca: serviceCa })),
  }
}

/** Sends a line and returns the response; empty when the connection fails. */
async function exchange(socket: Socket): Promise<string> {
  socket.on('error', () => {})
  socket.write('hello\n')
  return text(socket).catch(() => '')
}
