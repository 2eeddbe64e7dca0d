import assert from 'node:assert/strict'
import { Duplex, duplexPair, Transform } from 'node:stream'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { asDuplex } from '../../src/agent/forward/duplex.ts'
import { HeldStream as AgentHeldStream } from '../../src/agent/forward/held-stream.ts'
import { PreambleStream } from '../../src/agent/forward/preamble.ts'
import { SocketPipe } from '../../src/agent/forward/socket-pipe.ts'
import { MessageScanner } from '../../src/agent/http1.ts'
import { Copier } from '../../src/agent/inspector/copier.ts'
import { EventScanner } from '../../src/agent/inspector/event-scanner.ts'
import { WebSocketScanner } from '../../src/agent/inspector/websocket-scanner.ts'
import { systemClock } from '../../src/base/clock.ts'
import { Deadlines } from '../../src/base/deadlines.ts'
import { packReads } from '../../src/base/packed-reads.ts'
import { type ByteStream, type StreamSink, silentSink } from '../../src/base/stream.ts'
import { StreamDuplex } from '../../src/base/stream-duplex.ts'
import { Turn } from '../../src/base/turn.ts'
import { LineReader } from '../../src/cluster/lines.ts'
import { HelloReader } from '../../src/edge/client-hello.ts'
import { HeadBuffer } from '../../src/edge/head-buffer.ts'
import { TransformFeed } from '../../src/edge/transform-feed.ts'
import { CallReader, MuxSession, type MuxStream } from '../../src/protocol/index.ts'
import { JsonReader } from '../../src/protocol/json-reader.ts'
import { ProxyHeaderReader } from '../../src/protocol/proxy-header.ts'
import { HeldStream } from '../../src/sessions/held-stream.ts'
import { ForwardedChannel } from '../../src/sessions/ssh/forwarded-channel.ts'

/** What a reader may keep for each byte it has received. */
const MAX_BYTES_PER_BYTE = 2
/** What measuring itself and a few objects may add. */
const SLACK = 24 * 1024

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

/** A stream of which only the sink is used. */
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

/** A stream of a session whose link takes nothing any more, so that everything written waits in it. */
function stalledMuxStream(): MuxStream {
  const [near] = duplexPair()
  const session = new MuxSession(near, { role: 'client', onStream() {}, onClose() {} })
  const stream = session.open(Buffer.alloc(4))
  stream.write(Buffer.alloc(256 * 1024))
  return stream
}

/** One byte at a time, cut from blocks as a transport would. */
function* singleBytes(text: Buffer): Generator<Buffer> {
  for (let from = 0; from < text.length; from += 16_384) {
    // Not of the pool that Node cuts small buffers from: it would be counted.
    const block = Buffer.allocUnsafeSlow(Math.min(16_384, text.length - from))
    text.copy(block, 0, from)
    for (let at = 0; at < block.length; at++) yield block.subarray(at, at + 1)
  }
}

/** An HTTP head, a JSON message and the like that never end: each begins as it should and is all letters after that. */
function begun(start: string | Buffer, length: number): Buffer {
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

interface Reader {
  /** What it receives; it never becomes complete, or its taker never takes it. */
  bytes: Buffer
  /** Makes one, and answers with how to give it a piece. */
  open(): (piece: Buffer) => unknown
}

const readers: Record<string, Reader> = {
  'a JSON message': {
    bytes: begun('{"x":"', 262_000),
    open: () => {
      const reader = new JsonReader()
      return (piece) => reader.push(piece)
    },
  },
  'a call of a peer': {
    bytes: begun('{"x":"', 262_000),
    open: () => {
      const reader = new CallReader(
        muxStream(),
        () => ({}),
        () => {},
      )
      return (piece) => reader.onData(piece)
    },
  },
  'the header of a proxied stream': {
    bytes: begun(proxyHeaderStart(), 65_000),
    open: () => {
      const reader = new ProxyHeaderReader(muxStream(), () => {})
      return (piece) => reader.onData(piece)
    },
  },
  'a mux stream whose link is stalled': {
    bytes: Buffer.alloc(262_000),
    open: () => {
      const stream = stalledMuxStream()
      return (piece) => stream.write(piece)
    },
  },
  'a line between nodes': {
    bytes: begun('{"x":"', 262_000),
    open: () => {
      const reader = new LineReader(muxStream(), () => {})
      return (piece) => reader.onData(piece)
    },
  },
  'an HTTP head at the edge': {
    bytes: begun('GET / HTTP/1.1\r\nX: ', 16_000),
    open: () => {
      const head = new HeadBuffer()
      return (piece) => head.append(piece)
    },
  },
  'a ClientHello': {
    bytes: begun(Buffer.from([22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xf0]), 16_000),
    open: () => {
      const reader = new HelloReader()
      return (piece) => reader.push(piece)
    },
  },
  'a stream that waits for its agent': {
    bytes: Buffer.alloc(65_000),
    open: () => {
      const held = new HeldStream({ again() {}, leave() {} }, true, {} as never, undefined)
      return (piece) => held.write(piece)
    },
  },
  'a stream that waits in the agent': {
    bytes: Buffer.alloc(262_000),
    open: () => {
      const held = new AgentHeldStream(new OpenStream())
      return (piece) => held.onData(piece)
    },
  },
  'a PROXY header in the agent': {
    bytes: begun(preambleStart(), 65_000),
    open: () => {
      const stream = new PreambleStream(new OpenStream(), () => {})
      return (piece) => stream.onData(piece)
    },
  },
  'a stream whose upstream is being dialled': {
    bytes: Buffer.alloc(262_000),
    open: () => {
      const pipe = new SocketPipe(new OpenStream(), new Turn(), new Deadlines(systemClock), () => {})
      return (piece) => pipe.onData(piece)
    },
  },
  'an HTTP head in the agent': {
    bytes: begun('GET / HTTP/1.1\r\nX: ', 65_000),
    open: () => {
      const scanner = new MessageScanner({ head: () => 0, body() {}, end() {}, raw() {} })
      return (piece) => scanner.push(piece)
    },
  },
  'a server-sent event in the inspector': {
    bytes: begun('data: ', 60_000),
    open: () => {
      const scanner = new EventScanner(() => {})
      return (piece) => scanner.push(piece)
    },
  },
  'a WebSocket message in the inspector': {
    bytes: begun(Buffer.from([0xc1, 127, 0, 0, 0, 0, 0, 1, 0, 0]), 60_000),
    open: () => {
      const scanner = new WebSocketScanner(false, new Copier(), { message() {}, broken() {} })
      return (piece) => scanner.push(piece)
    },
  },
  'a channel of an SSH client that takes nothing': {
    bytes: Buffer.alloc(130_000),
    open: () => {
      const carrier = { congested: true, wait() {}, sendData() {}, sendEnd() {}, sendClose() {} }
      const channel = new ForwardedChannel(1, { ...carrier, sendGrant() {}, forget() {} })
      return (piece) => channel.write(piece)
    },
  },
  'a stream that a library reads and has paused': {
    bytes: Buffer.alloc(262_000),
    open: () => {
      const duplex = new StreamDuplex(new OpenStream())
      return (piece) => duplex.onData(piece)
    },
  },
  'the same in the agent': {
    bytes: Buffer.alloc(262_000),
    open: () => {
      const stream = new OpenStream()
      const duplex = asDuplex(stream)
      return (piece) => {
        stream.sink.onData(piece)
        return duplex
      }
    },
  },
  'a body whose compression is busy': {
    bytes: Buffer.alloc(262_000),
    open: () => {
      const feed = new TransformFeed(new Transform({ transform() {} }), () => {})
      return (piece) => feed.write(piece)
    },
  },
  'a socket or HTTP/2 stream that is paused': {
    bytes: Buffer.alloc(65_000),
    open: () => {
      const stream = new Duplex({ read() {}, write() {} })
      packReads(stream)
      return (piece) => stream.push(Buffer.from(piece))
    },
  },
}

for (const [name, { bytes, open }] of Object.entries(readers)) {
  test(`${name}: single bytes cost at most ${MAX_BYTES_PER_BYTE} bytes each`, () => {
    // Once before, so that what is compiled and made on first use is not counted.
    const warm = open()
    for (const piece of singleBytes(bytes)) warm(piece)
    const give = open()
    const before = memory()
    for (const piece of singleBytes(bytes)) give(piece)
    const grown = memory() - before
    // Used afterwards, so that it is not collected before it was measured.
    give(Buffer.from('x'))

    const allowed = MAX_BYTES_PER_BYTE * bytes.length + SLACK
    assert.ok(grown <= allowed, `${bytes.length} bytes cost ${grown} bytes`)
  })
}

test('the measure itself finds a list of pieces', () => {
  const list: Buffer[] = []
  const before = memory()
  for (const piece of singleBytes(Buffer.alloc(65_000))) list.push(Buffer.from(piece))
  const grown = memory() - before

  assert.equal(list.length, 65_000)
  assert.ok(grown > 10 * list.length, `${list.length} bytes cost ${grown} bytes`)
})

/** Bytes in use, garbage collected. */
function memory(): number {
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
