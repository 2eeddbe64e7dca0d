import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { TimerWheel } from '../../base/io/memory/timer-wheel.ts'
import { FlushScheduler } from '../../base/io/streams/flush-scheduler.ts'
import { Pipe, type PipeResult } from '../../base/io/streams/pipe.ts'
import { resetSocket } from '../../base/io/streams/reset.ts'
import type { ByteStream } from '../../base/io/streams/stream.ts'
import { StreamDuplex } from '../../base/io/streams/stream-duplex.ts'
import type { Clock } from '../../base/values/clock.ts'
import type { ProxyHeader } from '../../protocol/index.ts'
import type { CaptureStore } from '../inspector/capture-store.ts'
import { HttpTap } from '../inspector/http-tap.ts'
import type { AgentLog } from '../log/log.ts'
import type { Meter } from '../metrics.ts'
import type { AgentTunnelSpec } from '../spec/spec.ts'
import { createFileServer, type FileServer } from './file-server.ts'
import { HostRewriteStream } from './host-rewrite.ts'
import { PreambleStream } from './preamble.ts'
import { TappedStream } from './tapped-stream.ts'
import { terminateTls } from './termination.ts'
import { respondUnreachable } from './unreachable.ts'
import { classifyDialError, formatDialError, UpstreamDialer } from './upstream-dial.ts'

/** What Vite, webpack, Rails and Django say of a host or origin that they do not know. */
const HOST_REJECTED =
  /invalid host header|this host .{0,300} is not allowed|blocked host|<title>DisallowedHost|invalid HTTP_HOST header|origin checking failed/i

const DIAL_TIMEOUT_MS = 10_000
const READ_BUFFER_BYTES = 65_536

/** The tunnel whose streams a route forwards. */
export interface UpstreamRouteOptions {
  spec: AgentTunnelSpec
  inspected: boolean
  /** The tunnel name shown with captures. */
  name: string
  /** The public origin that redirects are rewritten to; empty for labelled tunnels. */
  publicUrl: string
  connections: Meter
  requests: Meter
}

/** Dependencies of the forwarder; the agent provides them. */
export interface ForwarderDependencies {
  captures: CaptureStore
  clock: Clock
  log: AgentLog
  /** Shared by all streams; tests advance it by hand. */
  timers?: TimerWheel
}

/** Forwards proxied streams to local services. All tunnels share one forwarder, its read buffer and flush scheduler. */
export class Forwarder {
  readonly #dependencies: Required<ForwarderDependencies>
  readonly #flushScheduler: FlushScheduler
  // One buffer for all upstream sockets: each read is copied before the next one starts.
  readonly #readBuffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES)

  constructor({ timers, ...rest }: ForwarderDependencies) {
    const onError = (error: unknown) => rest.log.error('connection failed', { err: String(error) })
    this.#flushScheduler = new FlushScheduler(onError)
    this.#dependencies = {
      ...rest,
      timers: timers ?? new TimerWheel(rest.clock, undefined, onError),
    }
  }

  /** Whether requests of the tunnel are captured. HTTP/2 is never inspected. */
  inspects(spec: AgentTunnelSpec): boolean {
    return spec.inspect && this.#dependencies.captures.enabled && spec.forwardsProto !== 'http2'
  }

  /** Builds the route to a tunnel's upstream, once per definition. */
  createRoute(target: UpstreamRouteOptions): UpstreamRoute {
    return new UpstreamRoute(target, this.#dependencies, this.#flushScheduler, this.#readBuffer)
  }
}

/** Forwards the streams of one tunnel to its upstream. */
export class UpstreamRoute {
  readonly #target: UpstreamRouteOptions
  readonly #dependencies: Required<ForwarderDependencies>
  readonly #flushScheduler: FlushScheduler
  readonly #readBuffer: Buffer
  readonly #fileServer: FileServer | undefined
  readonly #dialer: UpstreamDialer
  #hintShown = false

  constructor(
    target: UpstreamRouteOptions,
    dependencies: Required<ForwarderDependencies>,
    flushScheduler: FlushScheduler,
    readBuffer: Buffer,
  ) {
    const { upstream, upstreamTls, forwardsProto } = target.spec
    this.#target = target
    this.#dependencies = dependencies
    this.#flushScheduler = flushScheduler
    this.#readBuffer = readBuffer
    this.#fileServer = upstream.kind === 'directory' ? createFileServer(upstream.path) : undefined
    this.#dialer = new UpstreamDialer({
      upstream,
      tls: upstreamTls,
      alpn: forwardsProto === 'http2' ? ['h2'] : ['http/1.1'],
      timeoutMs: DIAL_TIMEOUT_MS,
    })
  }

  /** Takes ownership of a stream and sets its sink before returning. */
  accept(header: ProxyHeader, stream: ByteStream): void {
    if (this.#target.spec.proxyProto === 0) this.#start(header, stream, undefined)
    else new PreambleStream(stream, (preamble, rest) => this.#start(header, rest, preamble))
  }

  #start(header: ProxyHeader, stream: ByteStream, preamble: Buffer | undefined): void {
    const { connections, spec } = this.#target
    const startTime = connections.begin()
    const onClosed = () => connections.end(startTime)
    if (!header.PassthroughTLS || !spec.termination) {
      this.#forward(header, stream, preamble, onClosed)
      return
    }
    terminateTls(stream, spec.termination, {
      onSecure: (plain) => this.#forward(header, plain, preamble, onClosed),
      onFailed: (error) => {
        this.#dependencies.log.debug('TLS handshake failed', {
          obj: 'join',
          r: header.ClientAddr,
          err: error,
        })
        onClosed()
      },
    })
  }

  #forward(
    header: ProxyHeader,
    stream: ByteStream,
    preamble: Buffer | undefined,
    onClosed: () => void,
  ): void {
    const isHttp = header.Proto === 'http' || header.Proto === 'https' || header.EdgeType === '3'
    const layer = isHttp ? this.#addHttpLayers(header, stream) : stream
    if (this.#fileServer) this.#fileServer.serve(new StreamDuplex(layer, this.#dependencies.timers), onClosed)
    else this.#connect(header, layer, preamble, isHttp, onClosed)
  }

  #addHttpLayers(header: ProxyHeader, stream: ByteStream): ByteStream {
    const { spec, inspected, publicUrl, name, requests } = this.#target
    // HTTP/2 passes through unchanged: neither rewritten nor inspected.
    if (spec.forwardsProto === 'http2') return stream
    const { captures, clock } = this.#dependencies
    const rewriteLayer =
      spec.hostHeader === undefined
        ? stream
        : new HostRewriteStream(stream, {
            upstream: spec.hostHeader,
            upstreamOrigin: `${spec.upstream.tls ? 'https' : 'http'}://${spec.hostHeader}`,
            publicOrigin: publicUrl,
          })
    const tap = new HttpTap({
      tunnelName: name,
      remoteAddr: stripPort(header.ClientAddr),
      meter: requests,
      store: inspected ? captures : undefined,
      clock,
      onResponse: (status, bodyStart) => this.#suggestHostRewrite(status, bodyStart),
    })
    if (inspected) stream.onNote = (payload) => tap.addNote(payload)
    return new TappedStream(rewriteLayer, tap)
  }

  #connect(
    header: ProxyHeader,
    stream: ByteStream,
    preamble: Buffer | undefined,
    isHttp: boolean,
    onClosed: () => void,
  ): void {
    const { log, timers } = this.#dependencies
    const { upstream } = this.#target.spec
    const id = log.enabled('info') ? randomBytes(6).toString('hex') : ''
    let cancelDial: (() => void) | undefined
    const onPipeClosed = ({ error }: PipeResult) => {
      cancelDial?.()
      if (error) log.debug('connection broken', { obj: 'join', id, err: error.message })
      onClosed()
    }
    const pipe = new Pipe(stream, this.#flushScheduler, onPipeClosed, timers)
    cancelDial = this.#dialer.dial(preamble, {
      onread: {
        buffer: this.#readBuffer,
        callback: (bytes, buffer) => pipe.onSocketData((buffer as Buffer).subarray(0, bytes)),
      },
      onConnected: (socket) => {
        cancelDial = undefined
        if (id) log.info('join connections', { obj: 'join', id, l: formatPeer(socket), r: header.ClientAddr })
        pipe.attach({ socket, abort: () => resetSocket(socket), usesOnread: !(socket instanceof TLSSocket) })
      },
      onFailed: (error) => {
        cancelDial = undefined
        const reason = `${upstream.text}: ${formatDialError(error)}`
        log.warn('failed to open private leg', { obj: 'join', id, privaddr: upstream.text, err: reason })
        if (isHttp) {
          pipe.detach()
          respondUnreachable(stream, classifyDialError(error), reason, onClosed)
        } else pipe.abort(new Error(`failed to dial backend: ${reason}`))
      },
    })
  }

  /** Development servers reject unknown host names; suggests the flag that helps, once per route. */
  #suggestHostRewrite(status: number, bodyStart: Buffer): void {
    if (this.#hintShown || status < 400 || this.#target.spec.hostHeader !== undefined) return
    const text = bodyStart.toString('latin1', 0, 2048)
    // Jupyter says in its log alone why it rejects the host.
    if (!HOST_REJECTED.test(text) && !(status === 403 && text.includes('<title>Jupyter'))) return
    this.#hintShown = true
    this.#dependencies.log.warn('the local service rejects the public host name', {
      name: this.#target.name,
      hint: 'start the tunnel with --host-header=rewrite',
    })
  }
}

/** Removes port and brackets from `ip:port`; captures show the address alone. */
function stripPort(clientAddr: string): string {
  return clientAddr.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
}

function formatPeer(socket: Socket): string {
  if (socket.remoteAddress === undefined) return 'unix'
  const address = socket.remoteFamily === 'IPv6' ? `[${socket.remoteAddress}]` : socket.remoteAddress
  return `${address}:${socket.remotePort}`
}
