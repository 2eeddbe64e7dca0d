import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { createRandom } from '../../../test/support/random.ts'
import { type Pair, transports } from '../testing/pairs.ts'
import { Probe } from '../testing/probe.ts'
import { ErrorCode, MuxError, WINDOW } from './frame.ts'
import { MuxSession } from './mux-session.ts'
import type { MuxStream } from './mux-stream.ts'

interface Ends {
  client: MuxSession
  server: MuxSession
  /** Accepted streams, in order. */
  atClient: Probe[]
  atServer: Probe[]
  closes: { client: (Error | undefined)[]; server: (Error | undefined)[] }
}

interface Setup {
  consume?: boolean
  onAccept?: (probe: Probe) => void
  firstId?: { client: number; server: number }
}

function connectEnds(t: TestContext, [near, far]: Pair, setup: Setup = {}): Ends {
  const atClient: Probe[] = []
  const atServer: Probe[] = []
  const closes: Ends['closes'] = { client: [], server: [] }
  const accept = (into: Probe[]) => (stream: MuxStream) => {
    const probe = new Probe(stream, setup.consume)
    into.push(probe)
    setup.onAccept?.(probe)
  }
  const onInternalError = (error: unknown) => assert.fail(error as Error)
  const client = new MuxSession(near, {
    role: 'client',
    onStream: accept(atClient),
    onClose: (error) => closes.client.push(error),
    onInternalError,
    ...(setup.firstId && { firstId: setup.firstId.client }),
  })
  const server = new MuxSession(far, {
    role: 'server',
    onStream: accept(atServer),
    onClose: (error) => closes.server.push(error),
    onInternalError,
    ...(setup.firstId && { firstId: setup.firstId.server }),
  })
  t.after(() => {
    client.destroy()
    server.destroy()
  })
  return { client, server, atClient, atServer, closes }
}

async function accepted(list: Probe[], count: number): Promise<void> {
  await eventually(() => list.length >= count, `${count} accepted streams`)
}

/** Writes with backpressure: stops at false and continues at the next drain. */
async function send(probe: Probe, bytes: Buffer, chunkSize: number): Promise<void> {
  for (let offset = 0; offset < bytes.length; offset += chunkSize) {
    const drains = probe.drains
    if (probe.stream.write(bytes.subarray(offset, offset + chunkSize))) continue
    await probe.until((p) => p.drains > drains || p.closed, 'a drain')
    if (probe.closed) return
  }
}

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

for (const [name, makePair] of Object.entries(transports)) {
  describe(`a session over ${name}`, () => {
    test('carries the bytes of the SYN frame and of both directions', async (t) => {
      const { server, atClient } = connectEnds(t, await makePair(t))
      const near = new Probe(server.open(Buffer.from('hello ')))
      near.stream.write(Buffer.from('agent'))
      await accepted(atClient, 1)
      const far = atClient[0]!
      await far.until((p) => p.received === 11, 'the greeting')

      far.stream.write(Buffer.from('hello server'))
      await near.until((p) => p.received === 12, 'the answer')

      assert.equal(far.bytes.toString(), 'hello agent')
      assert.equal(near.bytes.toString(), 'hello server')
    })

    test('gives odd ids to the client and even ids to the server', async (t) => {
      const { client, server } = connectEnds(t, await makePair(t))

      const ids = [1, 2, 3].map(() => [client.open(Buffer.alloc(4)).id, server.open(Buffer.alloc(4)).id])

      assert.deepEqual(ids, [
        [3, 2],
        [5, 4],
        [7, 6],
      ])
    })

    test('wraps to low ids after the highest, skipping those in use and the nudge id', async (t) => {
      const { server, atClient } = connectEnds(t, await makePair(t), {
        firstId: { client: 3, server: 0x7ffffffa },
      })

      const first = [1, 2, 3].map(() => server.open(Buffer.from('x')).id)
      await accepted(atClient, 3)

      assert.deepEqual(first, [0x7ffffffa, 0x7ffffffc, 2])
    })

    test('propagates a half-close and keeps the other direction open', async (t) => {
      const { client, atServer } = connectEnds(t, await makePair(t))
      const near = new Probe(client.open(Buffer.from('request')))
      near.stream.end()
      await accepted(atServer, 1)
      const far = atServer[0]!
      await far.until((p) => p.ended, 'the end of the request')

      far.stream.write(Buffer.from('response'))
      far.stream.end()
      await near.until((p) => p.closed, 'the close')
      await far.until((p) => p.closed, 'the close')

      assert.equal(near.bytes.toString(), 'response')
      assert.deepEqual([near.closeError, far.closeError], [undefined, undefined])
      assert.equal(client.streamCount, 0)
    })

    test('reports a reset to both ends as an error', async (t) => {
      const { client, server, atServer } = connectEnds(t, await makePair(t))
      const near = new Probe(client.open(Buffer.from('request')))
      await accepted(atServer, 1)

      near.stream.reset()
      await near.until((p) => p.closed, 'the close')
      await atServer[0]!.until((p) => p.closed, 'the close')

      assert.equal((atServer[0]!.closeError as MuxError).code, ErrorCode.StreamCancelled)
      assert.equal(atServer[0]!.ended, false)
      assert.deepEqual([client.streamCount, server.streamCount], [0, 0])
    })

    test('sends FIN before RST when the peer needs it', async (t) => {
      const { server, atClient } = connectEnds(t, await makePair(t))
      server.finBeforeReset = true
      const near = new Probe(server.open(Buffer.from('request')))
      await accepted(atClient, 1)

      near.stream.reset()
      await atClient[0]!.until((p) => p.closed, 'the close')

      assert.equal(atClient[0]!.ended, true)
      assert.notEqual(atClient[0]!.closeError, undefined)
    })

    test('is byte-exact for random sizes and chunks in both directions at once', async (t) => {
      const random = createRandom()
      t.diagnostic(`seed ${random.seed}`)
      const { client, atServer } = connectEnds(t, await makePair(t))

      for (let round = 0; round < 12; round++) {
        const up = randomBytes(random.below(1_000_000))
        const down = randomBytes(random.below(1_000_000))
        const near = new Probe(client.open(Buffer.from([0])))
        await accepted(atServer, round + 1)
        const far = atServer[round]!
        await Promise.all([
          send(near, up, 1 + random.below(100_000)).then(() => near.stream.end()),
          send(far, down, 1 + random.below(100_000)).then(() => far.stream.end()),
        ])
        await near.until((p) => p.closed, 'the close')
        await far.until((p) => p.closed, 'the close')

        assert.equal(digest(near.bytes), digest(down))
        assert.equal(digest(far.bytes.subarray(1)), digest(up))
      }
    })

    test('blocks a sender at one window until the reader consumes', async (t) => {
      const { server, atClient } = connectEnds(t, await makePair(t), { consume: false })
      const near = new Probe(server.open(Buffer.from('x')))
      const chunk = Buffer.alloc(65_536)
      while (near.stream.write(chunk));
      await accepted(atClient, 1)
      const far = atClient[0]!
      await far.until((p) => p.received === WINDOW, 'one window of bytes')
      assert.equal(near.drains, 0)

      far.stream.consumed(WINDOW)
      await near.until((p) => p.drains === 1, 'a drain')

      assert.equal(far.received <= WINDOW + 65_536, true)
    })

    test('does not let a stalled stream block others', async (t) => {
      const { server, atClient } = connectEnds(t, await makePair(t), { consume: false })
      const stalled = Array.from({ length: 20 }, () => new Probe(server.open(Buffer.from('x'))))
      for (const probe of stalled) while (probe.stream.write(Buffer.alloc(65_536)));
      await accepted(atClient, 20)
      const lively = new Probe(server.open(Buffer.from('x')))
      await accepted(atClient, 21)
      const far = atClient[20]!
      far.onData = (chunk) => {
        far.received += chunk.length
        far.stream.consumed(chunk.length)
        if (far.received > 2_000_000) far.stream.write(Buffer.from('got it'))
      }

      await send(lively, Buffer.alloc(2_100_000), 50_000)
      await lively.until((p) => p.received > 0, 'the answer on the lively stream')

      assert.equal(lively.closed, false)
    })

    test('shares the link evenly between bulk streams', async (t) => {
      const { server, atClient } = connectEnds(t, await makePair(t))
      const bytes = Buffer.alloc(4_000_000)
      const probes = Array.from({ length: 4 }, () => new Probe(server.open(Buffer.from('x'))))
      const order: number[] = []

      await Promise.all(
        probes.map(async (probe, index) => {
          await send(probe, bytes, 65_536)
          probe.stream.end()
          order.push(index)
        }),
      )
      await accepted(atClient, 4)
      const shares: number[] = []
      await atClient[0]!.until((p) => p.ended, 'the end of the first')
      for (const probe of atClient) shares.push(probe.received)

      assert.equal(order.length, 4)
      for (const share of shares)
        assert.ok(share > bytes.length * 0.6, `shares when the first ended: ${shares}`)
    })

    test('lets urgent bytes overtake queued data', async (t) => {
      let bulkBytes = 0
      let overtaken: number | undefined
      const { server } = connectEnds(t, await makePair(t), {
        consume: false,
        onAccept(probe) {
          probe.onData = (chunk) => {
            if (chunk.includes('now')) overtaken ??= bulkBytes
            bulkBytes += chunk.length
          }
        },
      })
      const bulk = Array.from({ length: 40 }, () => new Probe(server.open(Buffer.from('x'))))
      for (const probe of bulk) while (probe.stream.write(Buffer.alloc(65_536)));
      const urgent = server.open(Buffer.from('!'))
      urgent.urgent = true

      urgent.write(Buffer.from('now'))
      await eventually(() => overtaken !== undefined, 'the urgent bytes')

      assert.ok(overtaken! < 4 * WINDOW, `${overtaken} bytes of data went first`)
    })

    test('ends with GOAWAY: both sides and all streams are notified once', async (t) => {
      const { client, server, atServer, closes } = connectEnds(t, await makePair(t))
      const near = new Probe(client.open(Buffer.from('x')))
      await accepted(atServer, 1)

      server.close(ErrorCode.NoError, 'shutting down')
      await near.until((p) => p.closed, 'the close')
      await eventually(() => closes.client.length + closes.server.length === 2, 'both session ends')

      assert.match(near.closeError!.message, /shutting down/)
      assert.equal(closes.server[0], undefined)
      assert.equal((closes.client[0] as MuxError).code, ErrorCode.RemoteGone)
      assert.throws(() => client.open(Buffer.from('x')), MuxError)
      assert.ok(server.closed)
    })

    test('ends when the connection is lost', async (t) => {
      const pair = await makePair(t)
      const { client, atServer, closes } = connectEnds(t, pair)
      const near = new Probe(client.open(Buffer.from('x')))
      await accepted(atServer, 1)

      pair[0].destroy()
      await near.until((p) => p.closed, 'the close')

      assert.notEqual(near.closeError, undefined)
      assert.equal(closes.client.length, 1)
    })

    test('rejects streams beyond the limit and keeps the existing ones', async (t) => {
      const { client, server, atServer } = connectEnds(t, await makePair(t))
      server.maxIncoming = 2
      const probes = [1, 2, 3].map(() => new Probe(client.open(Buffer.from('x'))))

      await probes[2]!.until((p) => p.closed, 'the refusal')

      assert.equal((probes[2]!.closeError as MuxError).code, ErrorCode.StreamRefused)
      assert.equal(atServer.length, 2)
      assert.equal(server.streamCount, 2)
    })

    test('resets only the stream whose sink throws', async (t) => {
      const [near, far] = await makePair(t)
      const bugs: unknown[] = []
      const client = new MuxSession(near, { role: 'client', onStream() {}, onClose() {} })
      const server = new MuxSession(far, {
        role: 'server',
        onStream(stream) {
          stream.sink = {
            onData(chunk) {
              if (chunk.toString() === 'bad') throw new Error('a mistake')
              stream.write(chunk)
            },
            onEnd() {},
            onDrain() {},
            onClose() {},
          }
        },
        onClose() {},
        onInternalError: (error) => bugs.push(error),
      })
      t.after(() => server.destroy())

      const bad = new Probe(client.open(Buffer.from('bad')))
      const good = new Probe(client.open(Buffer.from('good')))
      await good.until((p) => p.received === 4, 'the echo')
      await bad.until((p) => p.closed, 'the reset')

      assert.equal((bad.closeError as MuxError).code, ErrorCode.Internal)
      assert.equal((bugs[0] as Error).message, 'a mistake')
    })
  })
}
