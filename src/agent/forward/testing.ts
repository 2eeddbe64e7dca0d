import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { systemClock } from '../../base/clock.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../base/io/stream.ts'
import { Deadlines } from '../../base/io/timer-wheel.ts'
import type { TunnelDefinition } from '../config/definitions.ts'
import { CaptureStore } from '../inspector/capture-store.ts'
import { type AgentLog, silentAgentLog } from '../log/log.ts'
import { Meter } from '../metrics.ts'
import { tunnelSpec } from '../tunnels/spec.ts'
import { Forwarder, type Route } from './forwarder.ts'

/** The visitor's end of a stream, in memory: what the edge would hold. */
export class Visitor {
  readonly stream: ByteStream & { sink: StreamSink }
  received = Buffer.alloc(0)
  ended = false
  error: Error | undefined
  closed = false
  /** Bytes sent and not yet consumed by the agent: what a window would count. */
  unconsumed = 0
  /** Bytes the agent may have under way before its writes return false. */
  room = Number.POSITIVE_INFINITY
  #agentEnded = false
  #visitorEnded = false
  #changed: (() => void)[] = []

  constructor() {
    const visitor = this
    this.stream = {
      sink: silentSink,
      write(chunk) {
        visitor.received = Buffer.concat([visitor.received, chunk])
        visitor.room -= chunk.length
        visitor.#tell()
        return visitor.room > 0
      },
      end() {
        visitor.#agentEnded = true
        visitor.ended = true
        visitor.#finishIfDone()
        visitor.#tell()
      },
      reset(error) {
        visitor.#close(error ?? new Error('reset'))
      },
      consumed(bytes) {
        visitor.unconsumed -= bytes
        visitor.#tell()
      },
    }
  }

  send(data: string | Buffer): void {
    const bytes = Buffer.from(data as string, 'latin1')
    this.unconsumed += bytes.length
    this.stream.sink.onData(bytes)
    // As the link does: whoever keeps a piece without copying it finds something else there.
    bytes.fill('!')
  }

  end(): void {
    this.#visitorEnded = true
    this.stream.sink.onEnd()
    this.#finishIfDone()
  }

  abort(): void {
    this.#close(new Error('the visitor went away'))
  }

  /** Reads on after `room` had run out. */
  drain(bytes: number): void {
    this.room = bytes
    this.stream.sink.onDrain()
  }

  get text(): string {
    return this.received.toString('latin1')
  }

  async until(condition: () => boolean): Promise<void> {
    const deadline = Date.now() + 5000
    while (!condition()) {
      if (Date.now() > deadline)
        throw new Error(`The condition never held; received ${JSON.stringify(this.text.slice(0, 500))}`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100)
        this.#changed.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }

  #finishIfDone(): void {
    if (this.#agentEnded && this.#visitorEnded) this.#close(undefined)
  }

  #close(error: Error | undefined): void {
    if (this.closed) return
    this.closed = true
    this.error = error
    setImmediate(() => {
      this.stream.sink.onClose(error)
      this.#tell()
    })
    this.#tell()
  }

  #tell(): void {
    for (const wake of this.#changed.splice(0)) wake()
  }
}

/** A local service that handles each connection with `handle`; gives its port. */
export async function startService(t: TestContext, handle: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    handle(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as { port: number }).port
}

/** A tunnel to forward through, with everything it keeps within reach. */
export function startRoute(
  definition: TunnelDefinition,
  log: AgentLog = silentAgentLog,
  deadlines = new Deadlines(systemClock),
) {
  const captures = new CaptureStore(10e6)
  const connections = new Meter(systemClock)
  const requests = new Meter(systemClock)
  const spec = tunnelSpec('web', definition)
  const forwarder = new Forwarder({ captures, clock: systemClock, log, deadlines })
  const inspected = forwarder.inspects(spec)
  const target = {
    spec,
    inspected,
    name: 'web',
    publicUrl: 'https://public.example.com',
    connections,
    requests,
  }
  return { route: forwarder.route(target), captures, connections, requests }
}

/** A visitor whose stream the route has taken over. */
export function visit(route: Route, proto: 'https' | 'tcp' | 'tls' = 'https', passthrough = false): Visitor {
  const visitor = new Visitor()
  const header = {
    Id: 'x',
    ClientAddr: '203.0.113.9:5000',
    Proto: proto,
    EdgeType: '0',
    PassthroughTLS: passthrough,
  }
  route.accept(header, visitor.stream)
  return visitor
}
