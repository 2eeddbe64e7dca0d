import { eventually } from '../../../test/support/eventually.ts'
import { TimerWheel } from '../../base/io/memory/timer-wheel.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../base/io/streams/stream.ts'
import { systemClock } from '../../base/values/clock.ts'
import type { TunnelDefinition } from '../config/definitions.ts'
import { Forwarder, type UpstreamRoute } from '../forward/forwarder.ts'
import { CaptureStore } from '../inspector/capture-store.ts'
import { type AgentLog, silentAgentLog } from '../log/log.ts'
import { Meter } from '../metrics.ts'
import { toTunnelSpec } from '../spec/spec.ts'

/** The client's end of a stream, in memory, as the edge would hold it. */
export class TestClient {
  readonly stream: ByteStream & { sink: StreamSink }
  received = Buffer.alloc(0)
  ended = false
  error: Error | undefined
  closed = false
  /** Bytes sent and not yet consumed by the agent. */
  unconsumed = 0
  /** Bytes the agent may write before its writes return false. */
  window = Number.POSITIVE_INFINITY
  #agentEnded = false
  #clientEnded = false

  constructor() {
    const client = this
    this.stream = {
      sink: silentSink,
      write(chunk) {
        client.received = Buffer.concat([client.received, chunk])
        client.window -= chunk.length
        return client.window > 0
      },
      end() {
        client.#agentEnded = true
        client.ended = true
        client.#finishIfDone()
      },
      reset(error) {
        client.#close(error ?? new Error('reset'))
      },
      consumed(bytes) {
        client.unconsumed -= bytes
      },
    }
  }

  send(data: string | Buffer): void {
    const bytes = Buffer.from(data as string, 'latin1')
    this.unconsumed += bytes.length
    this.stream.sink.onData(bytes)
    // The link reuses its read buffer: a receiver that keeps a chunk without copying it finds other data there.
    bytes.fill('!')
  }

  end(): void {
    this.#clientEnded = true
    this.stream.sink.onEnd()
    this.#finishIfDone()
  }

  abort(): void {
    this.#close(new Error('the client disconnected'))
  }

  /** Opens the window again. */
  drain(bytes: number): void {
    this.window = bytes
    this.stream.sink.onDrain()
  }

  get text(): string {
    return this.received.toString('latin1')
  }

  async until(condition: () => boolean): Promise<void> {
    await eventually(condition, () => `the condition; received ${JSON.stringify(this.text.slice(0, 500))}`)
  }

  #finishIfDone(): void {
    if (this.#agentEnded && this.#clientEnded) this.#close(undefined)
  }

  #close(error: Error | undefined): void {
    if (this.closed) return
    this.closed = true
    this.error = error
    setImmediate(() => {
      this.stream.sink.onClose(error)
    })
  }
}

/** Creates a route and returns it with its captures and meters. */
export function createTestRoute(
  definition: TunnelDefinition,
  log: AgentLog = silentAgentLog,
  timers = new TimerWheel(systemClock),
) {
  const captures = new CaptureStore(10e6)
  const connections = new Meter(systemClock)
  const requests = new Meter(systemClock)
  const spec = toTunnelSpec('web', definition)
  const forwarder = new Forwarder({ captures, clock: systemClock, log, timers })
  const inspected = forwarder.inspects(spec)
  const target = {
    spec,
    inspected,
    name: 'web',
    publicUrl: 'https://public.example.com',
    connections,
    requests,
  }
  return { route: forwarder.createRoute(target), captures, connections, requests }
}

/** Opens a client whose stream the route has accepted. */
export function openTestClient(
  route: UpstreamRoute,
  proto: 'https' | 'tcp' | 'tls' = 'https',
  passthrough = false,
): TestClient {
  const client = new TestClient()
  const header = {
    Id: 'x',
    ClientAddr: '203.0.113.9:5000',
    Proto: proto,
    EdgeType: '0',
    PassthroughTLS: passthrough,
  }
  route.accept(header, client.stream)
  return client
}
