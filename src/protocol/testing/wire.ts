import { type Duplex, duplexPair } from 'node:stream'
import type { TestContext } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import type { Clock } from '../../base/values/clock.ts'
import { MuxSession } from '../mux/mux-session.ts'
import type { MuxStream } from '../mux/mux-stream.ts'
import { Probe } from './probe.ts'

/** A frame on the wire. */
export interface Frame {
  type: number
  flags: number
  id: number
  payload: Buffer
}

/** A session whose peer is the test, with raw bytes. */
export interface Wire {
  session: MuxSession
  accepted: Probe[]
  closes: (Error | undefined)[]
  bugs: unknown[]
  frames: Frame[]
  raw: Duplex
  send(...bytes: Buffer[]): void
  /** Waits for this many frames. */
  waitForFrames(count: number): Promise<void>
}

/** Encodes a frame independently of the code under test. */
export function frame(type: number, flags: number, id: number, payload: Buffer | number = 0): Buffer {
  const body = typeof payload === 'number' ? Buffer.alloc(payload) : payload
  const header = Buffer.alloc(8)
  header.writeUIntBE(body.length, 0, 3)
  header[3] = type * 16 + flags
  header.writeUInt32BE(id, 4)
  return Buffer.concat([header, body])
}

/** Four bytes, big-endian. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function createWire(
  t: TestContext,
  role: 'client' | 'server',
  consume = true,
  onStream?: (stream: MuxStream) => void,
  clock?: Clock,
): Wire {
  const [raw, transport] = duplexPair()
  const accepted: Probe[] = []
  const closes: (Error | undefined)[] = []
  const bugs: unknown[] = []
  const frames: Frame[] = []
  const session = new MuxSession(transport, {
    role,
    onStream: onStream ?? ((stream) => void accepted.push(new Probe(stream, consume))),
    onClose: (error) => closes.push(error),
    onInternalError: (error) => bugs.push(error),
    ...(clock && { clock }),
  })
  let pending = Buffer.alloc(0)
  raw.on('error', () => {})
  raw.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    while (pending.length >= 8 && pending.length >= 8 + pending.readUIntBE(0, 3)) {
      const end = 8 + pending.readUIntBE(0, 3)
      frames.push({
        type: pending[3]! >> 4,
        flags: pending[3]! & 15,
        id: pending.readUInt32BE(4),
        payload: pending.subarray(8, end),
      })
      pending = pending.subarray(end)
    }
  })
  t.after(() => session.destroy())
  return {
    session,
    accepted,
    closes,
    bugs,
    frames,
    raw,
    send: (...bytes) => void raw.write(Buffer.concat(bytes)),
    waitForFrames: async (count) => {
      await eventually(
        () => frames.length >= count,
        () => `${count} frames, saw ${frames.length}`,
      )
    },
  }
}
