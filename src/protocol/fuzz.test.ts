import assert from 'node:assert/strict'
import { duplexPair } from 'node:stream'
import { test } from 'node:test'
import { collectGarbage } from '../../test/support/collect-garbage.ts'
import { eventually } from '../../test/support/eventually.ts'
import { createRandom, mutate, rounds } from '../../test/support/random.ts'
import { MuxError } from './mux/frame.ts'
import { FrameParser } from './mux/frame-parser.ts'
import { JsonReader } from './mux/json-reader.ts'
import { ProtocolError } from './mux/protocol-error.ts'
import { StreamType, typeBytes } from './mux/stream-type.ts'
import { encodeProxyHeader } from './proxy-header.ts'
import { ServedSession } from './served-session.ts'
import { frame, uint32 } from './testing/wire.ts'

const auth = Buffer.from('{"Version":["3","2"],"ClientId":"","Extra":{"AuthToken":"x","Metadata":"\\"}{"}}')

/** The start of a real agent session as one buffer. */
const conversation = Buffer.concat([
  frame(1, 2, 3, uint32(StreamType.Heartbeat)),
  frame(1, 0, 3, uint32(0x1234)),
  frame(1, 2, 5, Buffer.concat([uint32(StreamType.Auth), auth])),
  frame(1, 1, 5),
  frame(1, 2, 7, uint32(StreamType.Bind)),
  frame(1, 0, 7, Buffer.from('{"Id":"","Proto":"http","Opts":{"Domain":"a.b"}}')),
  frame(2, 0, 7, uint32(400)),
  frame(0, 0, 7, uint32(6)),
  frame(1, 3, 9, Buffer.concat([uint32(StreamType.Unbind), Buffer.from('{"Id":"x"}\n')])),
  frame(3, 0, 0, Buffer.concat([uint32(0), uint32(0), Buffer.from('no error')])),
])

test('20,000 mutated conversations neither end the process nor leak', async (t) => {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const bugs: unknown[] = []
  let open = 0
  let calls = 0
  const batch: ServedSession[] = []
  const memory = () => {
    collectGarbage()
    return process.memoryUsage().rss
  }
  let baseline = 0

  for (const round of rounds(20_000)) {
    if (round === 2000) baseline = memory()
    const [raw, transport] = duplexPair()
    raw.on('error', () => {})
    raw.resume()
    open++
    const served = new ServedSession(transport, {
      onCall: () => {
        calls++
        return { Error: '' }
      },
      onClose: () => open--,
      onInternalError: (error) => bugs.push(error),
    })
    const bytes = mutate(random, conversation)
    const cut = random.below(bytes.length + 1)
    raw.write(bytes.subarray(0, cut))
    raw.write(bytes.subarray(cut))
    batch.push(served)
    if (batch.length < 100) continue
    // Two ticks: what was written arrives in the first and is answered in the second.
    for (let tick = 0; tick < 2; tick++) await new Promise((resolve) => setImmediate(resolve))
    for (const session of batch.splice(0)) session.destroy()
  }
  await eventually(() => open === 0, 'the end of every session')

  assert.deepEqual(bugs, [])
  assert.ok(calls > 10_000, `only ${calls} calls got through`)
  const grown = memory() - baseline
  assert.ok(grown < 128 * 1024 * 1024, `resident memory grew by ${grown} bytes`)
})

test('20,000 mutated frame sequences are parsed alike whole and in chunks', (t) => {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const parse = (bytes: Buffer, chunkSize: number): string => {
    const events: string[] = []
    let data = 0
    const parser = new FrameParser({
      onDataHeader: (id, length, flags) => events.push(`data ${id} ${length} ${flags}`),
      onDataChunk: (chunk) => {
        data += chunk.length
      },
      onDataEnd: () => events.push(`end ${data}`),
      onReset: (id, code) => events.push(`rst ${id} ${code}`),
      onWindow: (id, increment) => events.push(`wnd ${id} ${increment}`),
      onNote: (id, payload) => events.push(`note ${id} ${payload.length}`),
      onGoAway: (id, code) => events.push(`goaway ${id} ${code}`),
    })
    try {
      for (let offset = 0; offset < bytes.length; offset += chunkSize)
        parser.push(bytes.subarray(offset, offset + chunkSize))
    } catch (error) {
      if (!(error instanceof MuxError)) throw error
      events.push(`error ${error.code}`)
    }
    return events.join('\n')
  }

  for (const _ of rounds(20_000)) {
    const bytes = mutate(random, conversation)
    const complete = parse(bytes, bytes.length || 1)

    const chunked = parse(bytes, 1 + random.below(20))

    assert.equal(chunked, complete)
  }
})

test('20,000 mutated messages are parsed like JSON.parse, or rejected', (t) => {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  for (const round of rounds(20_000)) {
    const bytes = mutate(random, auth)
    const reader = new JsonReader()
    let value: unknown
    try {
      if (!reader.push(bytes.subarray(0, round % 40)) && !reader.push(bytes.subarray(round % 40))) continue
      value = reader.value()
    } catch (error) {
      assert.ok(error instanceof SyntaxError || error instanceof RangeError || error instanceof ProtocolError)
      continue
    }

    // A match must be the longest valid prefix: an object that parses on its own.
    assert.equal(typeof value, 'object')
    assert.notEqual(value, null)
  }
})

test('20,000 mutated proxy headers end at most their stream', async (t) => {
  const { AgentSession } = await import('./agent-session.ts')
  const { Secret } = await import('../base/values/secret.ts')
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const header = { Id: 'b1', ClientAddr: '1.2.3.4:5', Proto: 'http', EdgeType: '0', PassthroughTLS: false }
  const complete = encodeProxyHeader(header, Buffer.from('GET / HTTP/1.1\r\n\r\n'))
  const [raw, transport] = duplexPair()
  raw.resume()
  const bugs: unknown[] = []
  let proxied = 0
  const agent = new AgentSession(transport, {
    identity: {
      authtoken: new Secret('t'),
      version: '1',
      userAgent: 'adit/1',
      clientType: 'adit',
      os: 'linux',
      arch: 'x64',
      commands: { restart: '', stop: '', update: '' },
    },
    onProxy(_header, stream) {
      proxied++
      stream.reset()
    },
    onCommand: async () => {},
    onClose() {},
    onInternalError: (error) => bugs.push(error),
  })
  t.after(() => agent.destroy())

  for (const round of rounds(20_000)) {
    const body = round % 100 === 0 ? complete : mutate(random, complete)
    const id = 2 + round * 2
    if (!raw.write(Buffer.concat([frame(1, 2, id, body), frame(0, 0, id, uint32(6))]))) {
      await new Promise((resolve) => raw.once('drain', resolve))
    }
  }
  raw.write(frame(1, 2, 2 + 40_000, Buffer.concat([typeBytes(StreamType.Proxy), complete.subarray(4)])))
  while (proxied < 201) await new Promise((resolve) => setImmediate(resolve))

  assert.deepEqual(bugs, [])
  assert.equal(agent.closed, false)
})
