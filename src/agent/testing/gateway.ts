import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { createServer, type TLSSocket } from 'node:tls'
import { createTestCa } from '../../../test/support/test-ca.ts'
import type { ByteStream } from '../../base/io/streams/stream.ts'
import { ErrorCode, ProtocolError, ServedSession, StreamType } from '../../protocol/index.ts'

interface BoundTunnel {
  id: string
  url: string
  proto: string
  session: ServedSession
  request: Record<string, unknown>
}

const ca = await createTestCa()
const identity = await ca.issue('localhost', '127.0.0.1')

/** A minimal gateway for agent tests: it accepts one token and every bind. */
export class TestGateway {
  readonly token = 'test-token-0123456789'
  readonly ca = ca.caPem
  readonly auths: Record<string, unknown>[] = []
  readonly calls: { type: number; message: Record<string, unknown> }[] = []
  readonly tunnels = new Map<string, BoundTunnel>()
  /** Rejects logins with this error while set. */
  authError: ProtocolError | undefined
  /** Rejects binds with this error while set. */
  bindError: ProtocolError | undefined
  /** What the response to each bind says of its policy. */
  bindWarnings: readonly string[] = []
  /** Rejects only the next bind. */
  nextBindError: ProtocolError | undefined
  /** Sent to agents as the addresses of the platform. */
  connectAddresses: string[] = []
  /** How many legs it lets a session have; undefined for a server that knows none. */
  maxLegs: number | undefined
  /** How many workers it names to agents. */
  workers = 1
  /** How many of the next legs that have to end elsewhere reach the home. */
  attemptsAtHome = 0
  /** The connections of all sessions, open or not. */
  readonly legs: ServedSession[] = []
  /** Responses to Auth wait for this promise. */
  authGate: Promise<void> = Promise.resolve()
  session: ServedSession | undefined
  port = 0
  readonly #sockets = new Set<Socket>()
  readonly #tlsSockets = new Set<TLSSocket>()
  #server = this.#createServer()
  #count = 0

  static async start(t: TestContext): Promise<TestGateway> {
    const gateway = new TestGateway()
    await gateway.listen(0)
    t.after(() => gateway.stop())
    return gateway
  }

  async listen(port: number): Promise<void> {
    this.#server = this.#createServer()
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.port = (this.#server.address() as { port: number }).port
  }

  /** Drops all connections, as if killed. */
  stop(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  /** Stops reading while all connections stay open, like a black-holed link; accepts no new connections. */
  freeze(): void {
    this.#server.close()
    for (const socket of this.#tlsSockets) socket.pause()
  }

  /** Ends the session as a server does on shutdown. */
  goAway(): void {
    this.session?.close(ErrorCode.NoError, 'restart')
  }

  /** Opens a client connection to the tunnel of that URL. */
  open(url: string, extra: { proto?: string; clientAddr?: string } = {}): ByteStream {
    const tunnel = [...this.tunnels.values()].find((tunnel) => tunnel.url === url)
    if (!tunnel) throw new Error(`nothing is bound at ${url}`)
    return tunnel.session.openProxy({
      Id: tunnel.id,
      ClientAddr: extra.clientAddr ?? '203.0.113.9:1234',
      Proto: extra.proto ?? tunnel.proto,
      EdgeType: '0',
      PassthroughTLS: false,
    })
  }

  /** Sends one request through a tunnel and resolves with the complete response. */
  request(url: string, text: string): Promise<string> {
    const stream = this.open(url)
    return new Promise((resolve, reject) => {
      let received = ''
      stream.sink = {
        onData(chunk) {
          received += chunk.toString('latin1')
          stream.consumed(chunk.length)
          const end = received.indexOf('\r\n\r\n')
          const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? Number.NaN)
          if (end >= 0 && received.length >= end + 4 + length) {
            stream.end()
            resolve(received)
          }
        },
        onEnd() {
          stream.end()
          resolve(received)
        },
        onDrain() {},
        onClose(error) {
          if (error) reject(error)
        },
      }
      stream.write(Buffer.from(text, 'latin1'))
    })
  }

  #createServer() {
    const server = createServer(identity, (socket) => this.#serve(socket))
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => this.#sockets.delete(socket))
    })
    server.on('tlsClientError', () => {})
    return server
  }

  #serve(socket: TLSSocket): void {
    this.#tlsSockets.add(socket)
    socket.on('close', () => this.#tlsSockets.delete(socket))
    const session: ServedSession = new ServedSession(socket, {
      onCall: async (type, message) => {
        this.calls.push({ type, message })
        return this.#handleCall(session, type, message)
      },
      onClose: () => {
        for (const [id, bound] of this.tunnels) if (bound.session === session) this.tunnels.delete(id)
        if (this.session === session) this.session = undefined
      },
      onInternalError: (error) => {
        throw error
      },
    })
  }

  async #handleCall(session: ServedSession, type: number, message: Record<string, unknown>): Promise<object> {
    switch (type) {
      case StreamType.Auth:
        return this.#auth(session, message)
      case StreamType.Bind:
        return this.#bind(session, message)
      case StreamType.StartTunnelWithLabel: {
        if (this.bindError) throw this.bindError
        const id = `label-${++this.#count}`
        this.tunnels.set(id, { id, url: '', proto: '', session, request: message })
        return { Id: id, Error: '' }
      }
      case StreamType.Unbind:
        this.tunnels.delete(String(message.Id))
        return { Error: '', Extra: null }
      case StreamType.SrvInfo:
        return { Region: 'test' }
      default:
        throw new ProtocolError(`no such call: ${type}`)
    }
  }

  async #auth(session: ServedSession, message: Record<string, unknown>): Promise<object> {
    await this.authGate
    this.auths.push(message)
    const extra = message.Extra as Record<string, unknown>
    if (this.authError) throw this.authError
    if (extra.Authtoken !== this.token) throw new ProtocolError('The authtoken is not valid.', 107)
    if (extra.Elsewhere === true && this.attemptsAtHome-- > 0) throw new ProtocolError('Dial again.')
    this.legs.push(session)
    const joined = extra.AgentSessionID
    if (joined === undefined) this.session = session
    session.authenticated(25_000, true)
    return {
      Version: '3',
      ClientId: message.ClientId || `client-${++this.#count}`,
      Error: '',
      Extra: {
        Version: 'test',
        Region: 'eu',
        Cookie: 'cookie',
        AccountName: 'Ada',
        PlanName: 'Self-hosted',
        Banner: '',
        SessionDuration: 0,
        DeprecationWarning: null,
        ConnectAddresses: this.connectAddresses.map((ServerAddr) => ({ Region: 'us', ServerAddr })),
        AgentSessionID: joined ?? `ts_${++this.#count}`,
        ...(this.maxLegs !== undefined && { MaxLegs: this.maxLegs }),
        ...(this.workers > 1 && { Workers: this.workers }),
        ...(extra.Elsewhere === true && { Elsewhere: true }),
      },
    }
  }

  #bind(session: ServedSession, message: Record<string, unknown>): object {
    const error = this.nextBindError ?? this.bindError
    this.nextBindError = undefined
    if (error) throw error
    const {
      Proto: proto,
      Opts: opts = {},
      Extra: extra,
    } = message as {
      Proto: string
      Opts: Record<string, string>
      Extra: { Token: string }
    }
    const id = String(message.Id || `bind-${++this.#count}`)
    const name =
      opts.Domain || opts.Hostname || (opts.Subdomain && `${opts.Subdomain}.test`) || `n${++this.#count}.test`
    const url =
      proto === 'tcp' ? `tcp://${opts.Addr || `tcp.test:${20_000 + ++this.#count}`}` : `${proto}://${name}`
    if (
      [...this.tunnels.values()].some(
        (tunnel) => tunnel.url === url && tunnel.session !== session && !tunnel.session.closed,
      )
    ) {
      if (extra.Token === '') throw new ProtocolError(`${url} is already online.`, 334)
    }
    this.tunnels.set(id, { id, url, proto, session, request: message })
    return {
      Id: id,
      URL: url,
      Proto: proto,
      Opts: opts,
      Error: '',
      Extra: { Token: `token-of-${id}`, TunnelID: `tn_${id}`, Warnings: this.bindWarnings },
    }
  }
}
