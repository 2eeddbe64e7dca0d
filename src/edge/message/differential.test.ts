import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, rounds } from '../../../test/support/random.ts'
import { InProcessEdge, parseWithNode } from '../testing/in-process.ts'
import { payloads } from '../testing/payloads.ts'
import { type RecordedRequest, Recorder } from '../testing/recorder.ts'

/** Node must parse the same requests, or reject the rest at some point; it must never parse others. */
async function assertNodeAgrees(
  bytes: string,
  requests: readonly RecordedRequest[],
  lenient: boolean,
  label: string,
): Promise<void> {
  const { parsedRequests, rejected } = await parseWithNode(bytes, lenient)
  assert.deepEqual(parsedRequests, rejected ? requests.slice(0, parsedRequests.length) : requests, label)
}

/** What the edge forwarded must be the same requests to every parser, and no more than it admitted. */
async function assertParsersAgree(
  edge: InProcessEdge,
  recorders: readonly Recorder[],
  label: string,
): Promise<void> {
  let forwarded = 0
  for (const { bytes, requests } of recorders) {
    forwarded += requests.length
    for (const lenient of [false, true]) await assertNodeAgrees(bytes, requests, lenient, label)
    for (const { target, method } of requests) {
      assert.ok(!target.includes('smuggled') && !method.includes('SMUGGLED'), `smuggled: ${label}`)
    }
  }
  // An admitted request may still wait for the rest of its body.
  assert.ok(forwarded <= edge.routedRequests, `${forwarded} requests out of ${edge.routedRequests}: ${label}`)
}

test('no hand-written payload makes two parsers disagree or smuggles a second request', async () => {
  const edge = new InProcessEdge('a.example', 'b.example')
  assert.ok(payloads.length >= 80, `${payloads.length} payloads`)

  for (const { bytes, forwardedRequests } of payloads) {
    const label = JSON.stringify(bytes)
    const { recorders, response } = await edge.send(Buffer.from(bytes, 'latin1'))
    await assertParsersAgree(edge, recorders, label)

    const forwarded = recorders.flatMap(({ requests }) => requests)
    assert.equal(forwarded.length, forwardedRequests, `${label} forwarded ${JSON.stringify(forwarded)}`)
    if (forwardedRequests === 0) assert.match(response, /^HTTP\/1\.1 [45]\d\d /, label)
  }
})

test('a payload is parsed alike however it is split', async () => {
  const edge = new InProcessEdge('a.example', 'b.example')
  for (const { bytes, forwardedRequests } of payloads) {
    if (bytes.length > 2000) continue
    const chunks = Array.from(Buffer.from(bytes, 'latin1'), (byte) => Buffer.from([byte]))
    const { recorders } = await edge.send(...chunks)

    const forwarded = recorders.flatMap(({ requests }) => requests)
    assert.equal(forwarded.length, forwardedRequests, `byte by byte: ${JSON.stringify(bytes)}`)
  }
})

test('without the edge the same payloads do make parsers disagree', async () => {
  let differences = 0
  for (const { bytes } of payloads) {
    const plain = new Recorder()
    plain.write(Buffer.from(bytes, 'latin1'))
    const [strict, lenient] = [await parseWithNode(bytes, false), await parseWithNode(bytes, true)]
    const readings = [plain.requests, strict.parsedRequests, lenient.parsedRequests].map((seen) =>
      JSON.stringify(seen),
    )
    if (new Set(readings).size > 1) differences++
  }

  assert.ok(differences > 40, `${differences} payloads`)
})

const INSERTIONS = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  ' ',
  '\t',
  ':',
  ',',
  ';',
  '\0',
  '\x0b',
  '\x0c',
  '\x7f',
  '\x85',
  '\xa0',
  '\xff',
  '0',
  '1',
  'f',
  '0x',
  '+',
  '-',
  '_',
  '.',
  '"',
  '#',
  '?',
  '/',
  '//',
  '%0d%0a',
  'chunked',
  'identity',
  'gzip, ',
  'Content-Length: 5\r\n',
  'Content-Length: 0\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Host: b.example\r\n',
  'Connection: close\r\n',
  'Connection: Content-Length\r\n',
  'Expect: 100-continue\r\n',
  'Upgrade: h2c\r\n',
  '0\r\n\r\n',
  '5\r\nhello\r\n',
  'GET /smuggled HTTP/1.1\r\nHost: a.example\r\n\r\n',
  ' HTTP/1.1\r\n',
  'HTTP/1.0',
] // prettier-ignore

test('20,000 mutations make no two parsers disagree', async () => {
  const { seed, below: random } = createRandom()
  console.log(`seed ${seed}`)
  const bases = payloads.map(({ bytes }) => bytes).filter((bytes) => bytes.length < 1000)
  const mutate = (text: string): string => {
    let result = text
    for (let n = 1 + random(3); n > 0; n--) {
      const offset = random(result.length + 1)
      const insertion = INSERTIONS[random(INSERTIONS.length)]!
      switch (random(6)) {
        case 0:
          result = result.slice(0, offset) + insertion + result.slice(offset)
          break
        case 1:
          result = result.slice(0, offset) + result.slice(offset + 1 + random(4))
          break
        case 2:
          result = result.slice(0, offset) + String.fromCharCode(random(256)) + result.slice(offset + 1)
          break
        case 3: {
          const line = result.split('\r\n')
          const copy = line[random(line.length)]!
          line.splice(random(line.length + 1), 0, copy)
          result = line.join('\r\n')
          break
        }
        case 4: {
          const other = bases[random(bases.length)]!
          result = result.slice(0, offset) + other.slice(random(other.length))
          break
        }
        default:
          result = result.replace(/[A-Za-z]/g, (c) => (random(12) === 0 ? swapCase(c) : c))
      }
    }
    return result
  }
  const edge = new InProcessEdge('a.example', 'b.example')
  let forwarded = 0
  for (const n of rounds(20_000)) {
    const text = mutate(bases[n % bases.length]!)
    const cut = random(text.length)
    const bytes = Buffer.from(text, 'latin1')
    const { recorders } = await edge.send(bytes.subarray(0, cut), bytes.subarray(cut))

    let count = 0
    for (const recorder of recorders) {
      count += recorder.requests.length
      await assertNodeAgrees(
        recorder.bytes,
        recorder.requests,
        n % 2 === 0,
        `case ${n}: ${JSON.stringify(text)}`,
      )
    }
    assert.ok(count <= edge.routedRequests, `case ${n}: ${JSON.stringify(text)}`)
    forwarded += count
  }
  // An edge that rejects everything would prove nothing.
  assert.ok(forwarded > 2_000, `only ${forwarded} requests got through`)
})

function swapCase(c: string): string {
  return c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase()
}
