import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { startRelay } from '../../../test/support/relay.ts'

const PREFACE_BYTES = 24
const FRAME_HEAD_BYTES = 9
const TYPES = ['DATA', 'HEADERS', '', 'RST_STREAM']
const END_STREAM_TYPES = new Set(['DATA', 'HEADERS'])
/** By code (RFC 9113 section 7). */
const ERRORS = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
]

/** The frames of one stream from one side, such as `HEADERS`, `DATA END_STREAM` or `RST_STREAM CANCEL`. */
export type StreamFrames = readonly string[]

/** Relays connections of HTTP/2 without TLS and records their frames. */
export interface Http2Tap {
  readonly port: number
  /** The frames of each stream from the side of the client, in the order of the streams. */
  fromClient(): StreamFrames[]
  /** The frames of each stream from the side of the server, in the order of the streams. */
  fromServer(): StreamFrames[]
}

/** Starts a relay to `target`; it closes with the test. */
export async function startHttp2Tap(t: TestContext, target: number): Promise<Http2Tap> {
  const connections = new Map<Socket, Record<'client' | 'server', FrameReader>>()
  const relay = await startRelay(t, target, (chunk, from, client) => {
    let readers = connections.get(client)
    if (readers === undefined) {
      readers = { client: new FrameReader(PREFACE_BYTES), server: new FrameReader(0) }
      connections.set(client, readers)
    }
    readers[from].read(chunk)
  })
  const read = (side: 'client' | 'server') =>
    [...connections.values()].flatMap((readers) => [...readers[side].streams.values()])
  return { port: relay.port, fromClient: () => read('client'), fromServer: () => read('server') }
}

class FrameReader {
  readonly streams = new Map<number, string[]>()
  #skip: number
  #rest = Buffer.alloc(0)

  constructor(skip: number) {
    this.#skip = skip
  }

  read(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    for (;;) {
      const head = this.#rest.subarray(this.#skip)
      if (head.length < FRAME_HEAD_BYTES) return
      const size = FRAME_HEAD_BYTES + head.readUIntBE(0, 3)
      if (head.length < size) return
      this.#record(head.subarray(0, size))
      this.#rest = head.subarray(size)
      this.#skip = 0
    }
  }

  #record(frame: Buffer): void {
    const type = TYPES[frame[3]!]
    const stream = frame.readUInt32BE(5)
    if (!type || stream === 0) return
    const frames = this.streams.get(stream) ?? []
    this.streams.set(stream, frames)
    if (type === 'RST_STREAM') frames.push(`${type} ${ERRORS[frame.readUInt32BE(FRAME_HEAD_BYTES)]}`)
    else frames.push(END_STREAM_TYPES.has(type) && (frame[4]! & 1) !== 0 ? `${type} END_STREAM` : type)
  }
}
