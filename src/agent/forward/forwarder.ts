import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { Turn } from '../../base/io/flush-scheduler.ts'
import type { ByteStream } from '../../base/io/stream.ts'
import { Deadlines } from '../../base/io/timer-wheel.ts'
import type { ProxyHeader } from '../../protocol/index.ts'
import type { CaptureStore } from '../inspector/capture-store.ts'
import { HttpTap } from '../inspector/http-tap.ts'
import type { AgentLog } from '../log/log.ts'
import type { Meter } from '../metrics.ts'
import type { TunnelSpec } from '../tunnels/spec.ts'
import { asDuplex } from './duplex.ts'
import { createFileServer, type FileServer } from './file-server.ts'
import { HostRewriteStream } from './host-rewrite.ts'
import { PreambleStream } from './preamble.ts'
import { SocketPipe } from './socket-pipe.ts'
import { TappedStream } from './tapped-stream.ts'
import { terminateTls } from './termination.ts'
import { answerUnreachable } from './unreachable.ts'
import { dialReason, UpstreamDialer } from './upstream-dial.ts'

const DIAL_TIMEOUT_MS = 10_000
const READ_BUFFER = 65_536

/** What one tunnel needs to be forwarded. */
export interface ForwardTarget {
  spec: TunnelSpec
  inspected: boolean
  /** The name captures are listed under. */
  name: string
  /** The public origin redirects are rewritten to; empty for labelled tunnels. */
  publicUrl: string
  connections: Meter
  requests: Meter
}

/** What forwarding needs of the agent. */
export interface ForwarderDependencies {
  captures: CaptureStore
  clock: Clock
  log: AgentLog
  /** The one timer of all streams; tests move it by hand. */
  deadlines?: Deadlines
}

/** Carries proxied streams to local services. One for all tunnels: they share a read buffer and the turn's writes. */
export class Forwarder {
  readonly #dependencies: Required<ForwarderDependencies>
  readonly #turn: Turn
  // One buffer for all upstream sockets: reads are handled one after the other and copied before the next.
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BUFFER)

  constructor({ deadlines, ...rest }: ForwarderDependencies) {
    const onError = (error: unknown) => rest.log.error('connection failed', { err: String(error) })
    this.#turn = new Turn(onError)
    this.#dependencies = {
      ...rest,
      deadlines: deadlines ?? new Deadlines(rest.clock, undefined, onError),
    }
  }

  /** Whether requests of such a tunnel are kept. HTTP/2 goes through as it is. */
  inspects(spec: TunnelSpec): boolean {
    return spec.inspect && this.#dependencies.captures.enabled && spec.forwardsProto !== 'http2'
  }

  /** Prepares the way to a tunnel's upstream; what depends on the definition alone is worked out here. */
  route(target: ForwardTarget): Route {
    return new Route(target, this.#dependencies, this.#turn, this.#buffer)
  }
}

/** The way from a tunnel to its upstream. */
export class Route {
  readonly #target: ForwardTarget
  readonly #dependencies: Required<ForwarderDependencies>
  readonly #turn: Turn
  readonly #buffer: Buffer
  readonly #files: FileServer | undefined
  readonly #dialer: UpstreamDialer
  #hinted = false

  constructor(
    target: ForwardTarget,
    dependencies: Required<ForwarderDependencies>,
    turn: Turn,
    buffer: Buffer,
  ) {
    const { upstream, upstreamTls, forwardsProto } = target.spec
    this.#target = target
    this.#dependencies = dependencies
    this.#turn = turn
    this.#buffer = buffer
    this.#files = upstream.kind === 'directory' ? createFileServer(upstream.path) : undefined
    this.#dialer = new UpstreamDialer({
      upstream,
      tls: upstreamTls,
      alpn: forwardsProto === 'http2' ? ['h2'] : ['http/1.1'],
      timeoutMs: DIAL_TIMEOUT_MS,
    })
  }

  /** Takes over a stream; its sink is set when this returns. */
  accept(header: ProxyHeader, stream: ByteStream): void {
    if (this.#target.spec.proxyProto === 0) this.#begin(header, stream, undefined)
    else new PreambleStream(stream, (preamble, rest) => this.#begin(header, rest, preamble))
  }

  #begin(header: ProxyHeader, stream: ByteStream, preamble: Buffer | undefined): void {
    const { connections, spec } = this.#target
    const began = connections.begin()
    const closed = () => connections.end(began)
    if (!header.PassthroughTLS || !spec.termination) {
      this.#forward(header, stream, preamble, closed)
      return
    }
    terminateTls(stream, spec.termination, {
      secure: (plain) => this.#forward(header, plain, preamble, closed),
      failed: (error) => {
        this.#dependencies.log.debug('TLS handshake failed', {
          obj: 'join',
          r: header.ClientAddr,
          err: error,
        })
        closed()
      },
    })
  }

  #forward(header: ProxyHeader, stream: ByteStream, preamble: Buffer | undefined, closed: () => void): void {
    const http = header.Proto === 'http' || header.Proto === 'https' || header.EdgeType === '3'
    const layered = http ? this.#asHttp(header, stream) : stream
    if (this.#files) this.#files.serve(asDuplex(layered, this.#dependencies.deadlines), closed)
    else this.#join(header, layered, preamble, http, closed)
  }

  #asHttp(header: ProxyHeader, stream: ByteStream): ByteStream {
    const { spec, inspected, publicUrl, name, requests } = this.#target
    // HTTP/2 goes through as it is: neither rewritten nor inspected.
    if (spec.forwardsProto === 'http2') return stream
    const { captures, clock } = this.#dependencies
    const rewritten =
      spec.hostHeader === undefined
        ? stream
        : new HostRewriteStream(stream, { upstream: spec.hostHeader, publicOrigin: publicUrl })
    const tap = new HttpTap({
      tunnelName: name,
      remoteAddr: addressOf(header.ClientAddr),
      meter: requests,
      store: inspected ? captures : undefined,
      clock,
      onAnswer: (status, start) => this.#hint(status, start),
    })
    return new TappedStream(rewritten, tap)
  }

  #join(
    header: ProxyHeader,
    stream: ByteStream,
    preamble: Buffer | undefined,
    http: boolean,
    closed: () => void,
  ): void {
    const { log, deadlines } = this.#dependencies
    const { upstream } = this.#target.spec
    const id = log.enabled('info') ? randomBytes(6).toString('hex') : ''
    let giveUp: (() => void) | undefined
    const pipe = new SocketPipe(stream, this.#turn, deadlines, (error) => {
      giveUp?.()
      if (error) log.debug('connection broken', { obj: 'join', id, err: error.message })
      closed()
    })
    giveUp = this.#dialer.dial(preamble, {
      onread: {
        buffer: this.#buffer,
        callback: (bytes, buffer) => pipe.received((buffer as Buffer).subarray(0, bytes)),
      },
      connected: (socket) => {
        giveUp = undefined
        if (id) log.info('join connections', { obj: 'join', id, l: peerOf(socket), r: header.ClientAddr })
        pipe.connect(socket)
      },
      failed: (error) => {
        giveUp = undefined
        const why = `${upstream.shown}: ${dialReason(error)}`
        log.warn('failed to open private leg', { obj: 'join', id, privaddr: upstream.shown, err: why })
        if (http) {
          pipe.stepAside()
          answerUnreachable(stream, why, closed)
        } else pipe.fail(new Error(`failed to dial backend: ${why}`))
      },
    })
  }

  /** Development servers refuse names they do not know; say once what helps. */
  #hint(status: number, start: Buffer): void {
    if (this.#hinted || status < 400 || this.#target.spec.hostHeader !== undefined) return
    if (
      !/invalid host header|this host .{0,300} is not allowed|blocked host/i.test(
        start.toString('latin1', 0, 512),
      )
    )
      return
    this.#hinted = true
    this.#dependencies.log.warn('the local service refuses the public host name', {
      name: this.#target.name,
      hint: 'start the tunnel with --host-header=rewrite',
    })
  }
}

/** The address of `ip:port` without its port, as captures show it. */
function addressOf(clientAddr: string): string {
  return clientAddr.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
}

function peerOf(socket: Socket): string {
  if (socket.remoteAddress === undefined) return 'unix'
  const address = socket.remoteFamily === 'IPv6' ? `[${socket.remoteAddress}]` : socket.remoteAddress
  return `${address}:${socket.remotePort}`
}
