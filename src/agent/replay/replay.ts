import { type ByteStream, type StreamSink, silentSink } from '../../base/io/streams/stream.ts'
import { proxyProtocolHeader } from '../../protocol/index.ts'
import type { UpstreamRoute } from '../forward/forwarder.ts'
import { MessageScanner, parseStatus, responseFraming } from '../http1.ts'
import type { AgentTunnelSpec } from '../spec/spec.ts'

const REPLAY_TIMEOUT_MS = 300_000
/** The same limit the edge applies to interim responses. */
const MAX_INTERIM_RESPONSES = 32
const REPLAY_CLIENT_ADDR = '127.0.0.1:0'

/**
 * Sends the bytes of a request to the upstream of a tunnel, through the same route as client requests, so that it is
 * captured and counted like one. The new capture exists when this returns.
 */
export function replay(request: Buffer, target: { route: UpstreamRoute; spec: AgentTunnelSpec }): void {
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

/** The client side of a replay: discards the response and closes when it is complete. */
class ReplayStream implements ByteStream {
  sink: StreamSink = silentSink
  readonly #scanner: MessageScanner
  readonly #timeout = setTimeout(
    () => this.reset(new Error('The replay timed out.')),
    REPLAY_TIMEOUT_MS,
  ).unref()
  #closed = false

  constructor(method: string) {
    let interim = false
    let interimCount = 0
    this.#scanner = new MessageScanner({
      head: (_bytes, head) => {
        const status = parseStatus(head.line)
        interim = status >= 100 && status < 200 && status !== 101
        const framing = responseFraming(head, method)
        if (framing === 'stop') this.#finish()
        else if (interim && ++interimCount > MAX_INTERIM_RESPONSES)
          this.reset(new Error('The upstream sent too many interim responses.'))
        return framing
      },
      body() {},
      end: () => {
        if (!interim) this.#finish()
      },
      // Called for a head, trailers or chunk sizes that are malformed or too long.
      raw: () => this.reset(new Error('The response is not HTTP.')),
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
    this.#close(error ?? new Error('The replay was aborted.'))
  }

  consumed(): void {}

  /** Ends the client side; the connection closes once pending data is written. */
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
