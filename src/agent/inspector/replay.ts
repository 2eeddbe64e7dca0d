import { type ByteStream, type StreamSink, silentSink } from '../../base/io/stream.ts'
import { proxyProtocolHeader } from '../../protocol/index.ts'
import type { Route } from '../forward/forwarder.ts'
import { MessageScanner, responseFraming, statusOf } from '../http1.ts'
import type { TunnelSpec } from '../tunnels/spec.ts'

const REPLAY_TIMEOUT_MS = 300_000
/** As many interim answers as a client of the platform is passed. */
const MAX_INTERIM_RESPONSES = 32
const REPLAY_CLIENT_ADDR = '127.0.0.1:0'

/**
 * Sends the bytes of a request to the upstream of a tunnel and nowhere else. It goes the way of a visitor's request,
 * so it is captured and counted like one; when this returns, the new capture is there.
 */
export function replay(request: Buffer, target: { route: Route; spec: TunnelSpec }): void {
  const stream = new ReplayStream(request.toString('latin1', 0, request.indexOf(' ')))
  const header = {
    Id: '',
    ClientAddr: REPLAY_CLIENT_ADDR,
    Proto: 'http',
    EdgeType: '0',
    PassthroughTLS: false,
  }
  target.route.accept(header, stream)
  const version = target.spec.proxyProto
  if (version !== 0) stream.sink.onData(proxyProtocolHeader(version, REPLAY_CLIENT_ADDR, REPLAY_CLIENT_ADDR))
  stream.sink.onData(request)
}

/** The visitor's side of a replay: reads the answer to its end and then leaves. */
class ReplayStream implements ByteStream {
  sink: StreamSink = silentSink
  readonly #scanner: MessageScanner
  readonly #timeout = setTimeout(
    () => this.reset(new Error('The replay took too long.')),
    REPLAY_TIMEOUT_MS,
  ).unref()
  #closed = false

  constructor(method: string) {
    let interim = false
    let interimCount = 0
    this.#scanner = new MessageScanner({
      head: (_bytes, head) => {
        const status = statusOf(head.line)
        interim = status >= 100 && status < 200 && status !== 101
        const framing = responseFraming(head, method)
        if (framing === 'stop') this.#finish()
        else if (interim && ++interimCount > MAX_INTERIM_RESPONSES)
          this.reset(new Error('The answer never comes.'))
        return framing
      },
      body() {},
      end: () => {
        if (!interim) this.#finish()
      },
      // A head, trailers or chunk sizes that make no sense or have no end.
      raw: () => this.reset(new Error('The answer is not HTTP.')),
    })
  }

  write(chunk: Buffer): boolean {
    if (!this.#closed) this.#scanner.push(chunk)
    return true
  }

  end(): void {
    this.#finish()
  }

  reset(error?: Error): void {
    this.#close(error ?? new Error('The replay was broken off.'))
  }

  consumed(): void {}

  /** Ends our side; the connection closes once the upstream's side is written. */
  #finish(): void {
    if (this.#closed) return
    this.sink.onEnd()
    this.#close(undefined)
  }

  #close(error: Error | undefined): void {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#timeout)
    setImmediate(() => {
      const { sink } = this
      this.sink = silentSink
      sink.onClose(error)
    })
  }
}
