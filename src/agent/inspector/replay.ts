import { type ByteStream, type StreamSink, silentSink } from '../../base/io/stream.ts'
import { proxyProtocolHeader } from '../../protocol/index.ts'
import type { Route } from '../forward/forwarder.ts'
import { MessageScanner, responseFraming, statusOf } from '../http1.ts'
import type { TunnelSpec } from '../tunnels/spec.ts'

const PATIENCE_MS = 300_000
/** As many interim answers as a client of the platform is passed. */
const MAX_INTERIMS = 32
const REPLAYER = '127.0.0.1:0'

/**
 * Sends the bytes of a request to the upstream of a tunnel and nowhere else. It goes the way of a visitor's request,
 * so it is captured and counted like one; when this returns, the new capture is there.
 */
export function replay(request: Buffer, target: { route: Route; spec: TunnelSpec }): void {
  const stream = new ReplayStream(request.toString('latin1', 0, request.indexOf(' ')))
  const header = { Id: '', ClientAddr: REPLAYER, Proto: 'http', EdgeType: '0', PassthroughTLS: false }
  target.route.accept(header, stream)
  const version = target.spec.proxyProto
  if (version !== 0) stream.sink.onData(proxyProtocolHeader(version, REPLAYER, REPLAYER))
  stream.sink.onData(request)
}

/** The visitor's side of a replay: reads the answer to its end and then leaves. */
class ReplayStream implements ByteStream {
  sink: StreamSink = silentSink
  readonly #scanner: MessageScanner
  readonly #late = setTimeout(() => this.reset(new Error('The replay took too long.')), PATIENCE_MS).unref()
  #closed = false

  constructor(method: string) {
    let interim = false
    let interims = 0
    this.#scanner = new MessageScanner({
      head: (_bytes, head) => {
        const status = statusOf(head.line)
        interim = status >= 100 && status < 200 && status !== 101
        const framing = responseFraming(head, method)
        if (framing === 'stop') this.#leave()
        else if (interim && ++interims > MAX_INTERIMS) this.reset(new Error('The answer never comes.'))
        return framing
      },
      body() {},
      end: () => {
        if (!interim) this.#leave()
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
    this.#leave()
  }

  reset(error?: Error): void {
    this.#close(error ?? new Error('The replay was broken off.'))
  }

  consumed(): void {}

  /** Ends our side; the connection closes once the upstream's side is written. */
  #leave(): void {
    if (this.#closed) return
    this.sink.onEnd()
    this.#close(undefined)
  }

  #close(error: Error | undefined): void {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#late)
    setImmediate(() => {
      const { sink } = this
      this.sink = silentSink
      sink.onClose(error)
    })
  }
}
