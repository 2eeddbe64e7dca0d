import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex, duplexPair, Transform } from 'node:stream'
import { afterEach, test } from 'node:test'
import { openThroughProxy, parseProxy } from '../../src/agent/connect/proxy.ts'
import { PreambleStream } from '../../src/agent/forward/preamble.ts'
import { MessageScanner } from '../../src/agent/http1.ts'
import type { Capture } from '../../src/agent/inspector/capture-store.ts'
import { Copier } from '../../src/agent/inspector/copier.ts'
import { decodeBody } from '../../src/agent/inspector/decoded-body.ts'
import { EventScanner } from '../../src/agent/inspector/event-scanner.ts'
import { WebSocketScanner } from '../../src/agent/inspector/websocket-scanner.ts'
import { readJson } from '../../src/agent/local-api/local-api.ts'
import { ByteBudgets } from '../../src/base/io/memory/byte-budget.ts'
import { TimerWheel } from '../../src/base/io/memory/timer-wheel.ts'
import { SocketStream } from '../../src/base/io/sockets/socket-stream.ts'
import { BufferedStream } from '../../src/base/io/streams/buffered-stream.ts'
import { ByteQueue } from '../../src/base/io/streams/byte-queue.ts'
import { coalescePausedReads } from '../../src/base/io/streams/coalesced-reads.ts'
import { FlushScheduler } from '../../src/base/io/streams/flush-scheduler.ts'
import { readMessage } from '../../src/base/io/streams/length-prefixed.ts'
import { Pipe } from '../../src/base/io/streams/pipe.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../src/base/io/streams/stream.ts'
import { StreamDuplex } from '../../src/base/io/streams/stream-duplex.ts'
import { readBody } from '../../src/base/outbound/outbound.ts'
import { systemClock } from '../../src/base/values/clock.ts'
import { LineReader } from '../../src/cluster/json-lines.ts'
import { createTcpServer } from '../../src/dns/tcp.ts'
import { DialledStream } from '../../src/edge/backends/dialled-stream.ts'
import { DiallingUpstream } from '../../src/edge/backends/dialling-upstream.ts'
import { FallbackStream } from '../../src/edge/backends/fallback-stream.ts'
import type { UpstreamTarget } from '../../src/edge/contracts/backend.ts'
import type { Exchange } from '../../src/edge/contracts/exchange.ts'
import { HELD_BODY_LIMITS, HeldBody } from '../../src/edge/contracts/held-body.ts'
import type { ClientInfo } from '../../src/edge/contracts/tunnels.ts'
import { ClientHelloParser } from '../../src/edge/listeners/client-hello.ts'
import { TransformWriter } from '../../src/edge/response/transform-writer.ts'
import { CallReader, MuxSession, type MuxStream } from '../../src/protocol/index.ts'
import { JsonReader } from '../../src/protocol/mux/json-reader.ts'
import { ProxyHeaderReader } from '../../src/protocol/proxy-header.ts'
import { PendingStream } from '../../src/sessions/session/pending-stream.ts'
import { ForwardedChannel } from '../../src/sessions/ssh/forwarded-channel.ts'
import { KEX, MACS, selectCiphers } from '../../src/sessions/ssh/transport/algorithms.ts'
import { startSshServer } from '../../src/sessions/ssh/transport/ssh2.ts'
import { collectGarbage } from '../support/collect-garbage.ts'

/** The memory a reader may retain for each byte received. */
const MAX_BYTES_PER_BYTE = 2
/** Allowance for the measurement itself and a few objects. */
const MEASUREMENT_SLACK = 24 * 1024
const MAX_ATTEMPTS = 3

/** A stream of which tests use only the sink. */
class OpenStream implements ByteStream {
  sink: StreamSink = silentSink
  write(): boolean {
    return true
  }
  end(): void {}
  reset(): void {}
  consumed(): void {}
}

function muxStream(): MuxStream {
  return new OpenStream() as unknown as MuxStream
}

/** Creates a stream of a session whose link is blocked, so that all writes are queued. */
function stalledMuxStream(): MuxStream {
  const [transport] = duplexPair()
  const session = new MuxSession(transport, { role: 'client', onStream() {}, onClose() {} })
  const stream = session.open(Buffer.alloc(4))
  stream.write(Buffer.alloc(256 * 1024))
  return stream
}

/** Yields one byte at a time, sliced from blocks as a transport does. */
function* singleBytes(text: Buffer): Generator<Buffer> {
  for (let offset = 0; offset < text.length; offset += 16_384) {
    // Not from Node's pool for small buffers, which would be counted.
    const block = Buffer.allocUnsafeSlow(Math.min(16_384, text.length - offset))
    text.copy(block, 0, offset)
    for (let index = 0; index < block.length; index++) yield block.subarray(index, index + 1)
  }
}

/** Creates an input that starts valid and never completes, such as an endless HTTP head or JSON string. */
function createUnfinished(start: string | Buffer, length: number): Buffer {
  const first = Buffer.from(start)
  return Buffer.concat([first, Buffer.alloc(length - first.length, 'x')])
}

function proxyHeaderStart(): Buffer {
  const start = Buffer.alloc(8)
  start.writeUInt32LE(65_000)
  return start
}

function preambleStart(): Buffer {
  const start = Buffer.alloc(16)
  Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1').copy(start)
  start.writeUInt16BE(65_000, 14)
  return start
}

/** Creates the start of a key exchange message with an unterminated name list. */
function sshListsStart(): Buffer {
  const start = Buffer.alloc(6 + 16 + 4)
  start.writeUInt32BE(34_000)
  start[5] = 20
  start.writeUInt32BE(33_000, 22)
  return start
}

interface Reader {
  /** The input; it never completes, or its consumer never reads it. */
  bytes: Buffer
  /** Creates the reader and returns a function that pushes a chunk; a promise resolves when it wants the next one. */
  open(): (chunk: Buffer) => unknown
}

/** Creates an async iterable of chunks for readers that pull. */
function createFeed(): { chunks: AsyncIterable<Buffer>; push(chunk: Buffer): Promise<void> } {
  let next = Promise.withResolvers<Buffer>()
  let requested = Promise.withResolvers<void>()
  async function* chunks(): AsyncGenerator<Buffer> {
    for (;;) {
      requested.resolve()
      yield await next.promise
    }
  }
  return {
    chunks: chunks(),
    async push(chunk) {
      await requested.promise
      requested = Promise.withResolvers()
      const { resolve } = next
      next = Promise.withResolvers()
      resolve(chunk)
      await requested.promise
    },
  }
}

/** The stalled sockets of the current test. */
const openSockets: Socket[] = []

afterEach(() => {
  for (const socket of openSockets.splice(0)) socket.destroy()
})

/** Creates a socket without a peer: input is pushed by the test, and writes never complete. */
function stalledSocket(): Socket {
  const addresses = { remoteAddress: '192.0.2.1', remotePort: 1, localAddress: '192.0.2.2', localPort: 2 }
  const duplex = new Duplex({ read() {}, write() {} })
  const socket = Object.assign(duplex, addresses, { setNoDelay() {} }) as unknown as Socket
  openSockets.push(socket)
  return socket
}

/** Creates an exchange with only the parts that buffer a body. */
function openExchange(): Exchange {
  const budgets = new ByteBudgets(HELD_BODY_LIMITS)
  return {
    runtime: { heldBodyBudgets: budgets, timers: new TimerWheel(systemClock), limits: { heldBody: 60_000 } },
    connection: { remoteAddress: '192.0.2.1' },
    onFinish() {},
    reject: assert.fail,
    resumeBody() {},
  } as unknown as Exchange
}

/** Creates a stream to an address that is still being dialled. */
function dialledStream(): DialledStream {
  const socket = stalledSocket()
  return new DialledStream(socket, socket, 'connect')
}

const readers: Record<string, Reader> = {
  'a JSON message': {
    bytes: createUnfinished('{"x":"', 262_000),
    open: () => {
      const reader = new JsonReader()
      return (chunk) => reader.push(chunk)
    },
  },
  'a call of a peer': {
    bytes: createUnfinished('{"x":"', 262_000),
    open: () => {
      const reader = new CallReader(
        muxStream(),
        () => ({}),
        () => {},
      )
      return (chunk) => reader.onData(chunk)
    },
  },
  'the header of a proxied stream': {
    bytes: createUnfinished(proxyHeaderStart(), 65_000),
    open: () => {
      const reader = new ProxyHeaderReader(muxStream(), () => {})
      return (chunk) => reader.onData(chunk)
    },
  },
  'a mux stream whose link is stalled': {
    bytes: Buffer.alloc(262_000),
    open: () => {
      const stream = stalledMuxStream()
      return (chunk) => stream.write(chunk)
    },
  },
  'a line between nodes': {
    bytes: createUnfinished('{"x":"', 262_000),
    open: () => {
      const reader = new LineReader(muxStream(), () => {})
      return (chunk) => reader.onData(chunk)
    },
  },
  'an HTTP head at the edge': {
    bytes: createUnfinished('GET / HTTP/1.1\r\nX: ', 16_000),
    open: () => {
      const head = new ByteQueue()
      return (chunk) => head.retain(head.join(chunk))
    },
  },
  'a ClientHello': {
    bytes: createUnfinished(Buffer.from([22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xf0]), 16_000),
    open: () => {
      const reader = new ClientHelloParser()
      return (chunk) => reader.push(chunk)
    },
  },
  'a pending stream of the server': {
    bytes: Buffer.alloc(65_000),
    open: () => {
      const stream = new PendingStream({ retry() {}, cancel() {} }, true, {} as never, undefined)
      return (chunk) => stream.write(chunk)
    },
  },
  'a buffered stream of the agent': {
    bytes: Buffer.alloc(262_000),
    open: () => {
      const stream = new BufferedStream(new OpenStream())
      return (chunk) => stream.onData(chunk)
    },
  },
  'a PROXY header in the agent': {
    bytes: createUnfinished(preambleStart(), 65_000),
    open: () => {
      const stream = new PreambleStream(new OpenStream(), () => {})
      return (chunk) => stream.onData(chunk)
    },
  },
  'a stream whose upstream is being dialled': {
    bytes: Buffer.alloc(262_000),
    open: () => {
      const pipe = new Pipe(new OpenStream(), new FlushScheduler(), () => {})
      return (chunk) => pipe.onData(chunk)
    },
  },
  'an HTTP head in the agent': {
    bytes: createUnfinished('GET / HTTP/1.1\r\nX: ', 65_000),
    open: () => {
      const scanner = new MessageScanner({ head: () => 0, body() {}, end() {}, raw() {} })
      return (chunk) => scanner.push(chunk)
    },
  },
  'a server-sent event in the inspector': {
    bytes: createUnfinished('data: ', 60_000),
    open: () => {
      const scanner = new EventScanner(() => {})
      return (chunk) => scanner.push(chunk)
    },
  },
  'a WebSocket message in the inspector': {
    bytes: createUnfinished(Buffer.from([0xc1, 127, 0, 0, 0, 0, 0, 1, 0, 0]), 60_000),
    open: () => {
      const scanner = new WebSocketScanner(false, new Copier(), { onMessage() {}, onInvalid() {} })
      return (chunk) => scanner.push(chunk)
    },
  },
  'a congested channel of an SSH client': {
    bytes: Buffer.alloc(130_000),
    open: () => {
      const carrier = { congested: true, wait() {}, sendData() {}, sendEnd() {}, sendClose() {} }
      const channel = new ForwardedChannel(1, { ...carrier, sendWindowAdjust() {}, remove() {} })
      return (chunk) => channel.write(chunk)
    },
  },
  'a stream adapted for a library that has paused it': {
    bytes: Buffer.alloc(262_000),
    open: () => {
      const duplex = new StreamDuplex(new OpenStream())
      return (chunk) => duplex.onData(chunk)
    },
  },
  'a body whose compressor is busy': {
    bytes: Buffer.alloc(262_000),
    open: () => {
      const feed = new TransformWriter(new Transform({ transform() {} }), () => {})
      return (chunk) => feed.write(chunk)
    },
  },
  'a query to the DNS server over TCP': {
    bytes: createUnfinished(Buffer.from([0x0f, 0xff]), 4_000),
    open: () => {
      const limits = { connections: 10, connectionsPerSource: 10, idleMs: 60_000 }
      const socket = stalledSocket()
      createTcpServer(() => undefined, limits).emit('connection', socket)
      return (chunk) => socket.emit('data', chunk)
    },
  },
  'a response to the DNS client over TCP': {
    bytes: createUnfinished(Buffer.from([0xff, 0xff]), 20_000),
    open: () => {
      const { chunks, push } = createFeed()
      void readMessage(chunks)
      return push
    },
  },
  'a response to an outbound call': {
    bytes: Buffer.alloc(20_000),
    open: () => {
      const { chunks, push } = createFeed()
      void readBody(chunks, 1024 * 1024, new URL('http://192.0.2.1'))
      return push
    },
  },
  'a call of the local agent API': {
    bytes: createUnfinished('{"x":"', 20_000),
    open: () => {
      const { chunks, push } = createFeed()
      const headers = { 'content-type': 'application/json' }
      void readJson(Object.assign(chunks, { headers }) as unknown as IncomingMessage)
      return push
    },
  },
  'the response of a proxy to CONNECT': {
    bytes: createUnfinished('HTTP/1.1 200 OK\r\nX: ', 16_000),
    open: () => {
      const socket = stalledSocket()
      openThroughProxy(socket, parseProxy('http://192.0.2.1:80'), 'adit.test', 443).catch(() => {})
      return (chunk) => socket.emit('data', chunk)
    },
  },
  'the first bytes of an SSH client': {
    bytes: createUnfinished(Buffer.concat([Buffer.from('SSH-2.0-x\r\n'), sshListsStart()]), 30_000),
    open: () => {
      const offer = { kex: KEX, hostKeys: [], ciphers: selectCiphers, macs: MACS }
      const socket = stalledSocket()
      const client = startSshServer(
        socket,
        offer,
        () => ({}),
        () => {},
      )
      client.on('error', () => {})
      return (chunk) => socket.emit('data', chunk)
    },
  },
  'a buffered body, as of SAML callbacks and webhooks': {
    bytes: Buffer.alloc(262_000),
    open: () => {
      const body = new HeldBody(openExchange(), 1024 * 1024)
      return (chunk) => body.writeBody(chunk)
    },
  },
  'a buffered HTTP/2 body': {
    bytes: Buffer.alloc(262_000),
    open: () => {
      const stream = new Duplex({ read() {}, write() {} })
      coalescePausedReads(stream)
      const body = new HeldBody(openExchange(), 1024 * 1024)
      stream.on('data', (chunk: Buffer) => body.writeBody(chunk))
      return (chunk) => stream.push(Buffer.from(chunk))
    },
  },
  'a body whose static backend is being dialled': {
    bytes: Buffer.alloc(65_000),
    open: () => {
      const stream = dialledStream()
      const inner = {
        retainsChunks: false,
        writeBody: (chunk: Buffer) => stream.write(chunk),
        endBody() {},
        abort() {},
        consumed() {},
      }
      const upstream = new DiallingUpstream(openExchange(), { ...inner, reused: false }, stream)
      return (chunk) => upstream.writeBody(chunk)
    },
  },
  'a congested static backend': {
    bytes: Buffer.alloc(65_000),
    open: () => {
      const stream = new SocketStream(stalledSocket())
      return (chunk) => stream.write(chunk)
    },
  },
  'a connection whose backends are being dialled': {
    bytes: Buffer.alloc(65_000),
    open: () => {
      const target = { open: dialledStream } as unknown as UpstreamTarget
      const stream = new FallbackStream({} as ClientInfo, target, [], () => undefined)
      return (chunk) => stream.write(chunk)
    },
  },
  'a socket or HTTP/2 stream that is paused': {
    bytes: Buffer.alloc(65_000),
    open: () => {
      const stream = new Duplex({ read() {}, write() {} })
      coalescePausedReads(stream)
      return (chunk) => stream.push(Buffer.from(chunk))
    },
  },
}

for (const [name, { bytes, open }] of Object.entries(readers)) {
  test(`${name}: single bytes cost at most ${MAX_BYTES_PER_BYTE} bytes each`, async () => {
    // Warm up, so that lazy compilation and initialization are not counted.
    await feedAll(open(), bytes)
    const allowed = MAX_BYTES_PER_BYTE * bytes.length + MEASUREMENT_SLACK
    let growth = Number.POSITIVE_INFINITY
    // What a reader keeps costs as much each time, what the engine does beside it does not.
    for (let attempt = 0; attempt < MAX_ATTEMPTS && growth > allowed; attempt++) {
      const push = open()
      const before = measureMemory()
      await feedAll(push, bytes)
      growth = Math.min(growth, measureMemory() - before)
      // Used after the measurement, so that the reader is not collected before it.
      push(Buffer.from('x'))
    }

    assert.ok(growth <= allowed, `${bytes.length} bytes cost ${growth} bytes`)
  })
}

test('the measurement detects a list of chunks', () => {
  const list: Buffer[] = []
  const before = measureMemory()
  for (const chunk of singleBytes(Buffer.alloc(65_000))) list.push(Buffer.from(chunk))
  const growth = measureMemory() - before

  assert.equal(list.length, 65_000)
  assert.ok(growth > 10 * list.length, `${list.length} bytes cost ${growth} bytes`)
})

test('decoding a captured body of single-byte chunks costs no more than its bytes', async () => {
  const length = 60_000
  const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
  const raw = Buffer.from(`${head}${'1\r\nx\r\n'.repeat(length)}0\r\n\r\n`)
  const message = { head: Buffer.from(head), raw: () => raw, truncated: false }
  const capture = { request: { head: Buffer.from('GET / HTTP/1.1\r\n\r\n') }, response: message }
  const decode = () => decodeBody(capture as unknown as Capture, 'response')
  await decode()
  const before = measureMemory()
  const { body } = await decode()
  const growth = measureMemory() - before

  assert.equal(body.length, length)
  assert.ok(growth <= MAX_BYTES_PER_BYTE * length + MEASUREMENT_SLACK, `${length} bytes cost ${growth} bytes`)
})

async function feedAll(push: (chunk: Buffer) => unknown, bytes: Buffer): Promise<void> {
  // A stream starts to flow in the tick after its listener is added.
  await new Promise(setImmediate)
  for (const chunk of singleBytes(bytes)) {
    const requested = push(chunk)
    if (requested instanceof Promise) await requested
  }
}

/** Returns the bytes in use after garbage collection. */
function measureMemory(): number {
  collectGarbage()
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
