import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, rounds } from '../../../test/support/random.ts'
import { InProcessEdge } from '../testing/in-process.ts'

const BASES = [
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n',
  'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n',
  'HTTP/1.0 200 OK\r\n\r\nuntil the end',
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
]
const INSERTIONS = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  ' ',
  ':',
  '\0',
  '\xff',
  '0',
  '9',
  'Content-Length: 3\r\n',
  'chunked',
  'HTTP/1.1 200 OK\r\n',
] // prettier-ignore

test('whatever an upstream sends, the client gets complete responses in order, or none', async () => {
  const { seed, below: random } = createRandom()
  console.log(`seed ${seed}`)
  const edge = new InProcessEdge('a.example')
  const request = Buffer.from(
    'GET /1 HTTP/1.1\r\nHost: a.example\r\n\r\nGET /2 HTTP/1.1\r\nHost: a.example\r\n\r\n',
  )
  let passed = 0
  for (const n of rounds(5_000)) {
    let answer = BASES[n % BASES.length]!
    for (let m = 1 + random(3); m > 0; m--) {
      const offset = random(answer.length + 1)
      answer =
        random(2) === 0
          ? answer.slice(0, offset) + INSERTIONS[random(INSERTIONS.length)]! + answer.slice(offset)
          : answer.slice(0, offset) + answer.slice(offset + 1 + random(3))
    }
    edge.upstreamResponse = answer
    const { response: got } = await edge.send(request)

    const what = `case ${n}: ${JSON.stringify(answer)} became ${JSON.stringify(got)}`
    assert.ok(countResponses(got) <= 2, what)
    if (got.startsWith('HTTP/1.1 2')) passed++
  }
  assert.ok(passed > 500, `only ${passed} responses passed`)
})

/** Counts the responses in these bytes, strictly: the edge's output must be unambiguous. The last may be incomplete. */
function countResponses(text: string): number {
  let count = 0
  for (let offset = 0; offset < text.length; ) {
    const end = text.indexOf('\r\n\r\n', offset)
    assert.ok(end !== -1, `no end of the head at ${offset}: ${JSON.stringify(text)}`)
    const [status = '', ...lines] = text.slice(offset, end).split('\r\n')
    const code = Number(/^HTTP\/1\.1 (\d{3}) [^\r\n\0]*$/.exec(status)?.[1])
    assert.ok(code >= 100, `status line: ${JSON.stringify(text)}`)
    const fields = new Map<string, string>()
    for (const line of lines) {
      const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*)$/.exec(line)
      assert.ok(match, `field line ${JSON.stringify(line)}`)
      const name = match[1]!.toLowerCase()
      assert.ok(!(fields.has(name) && /^(content-length|transfer-encoding)$/.test(name)), `${name} twice`)
      fields.set(name, match[2]!)
    }
    offset = end + 4
    if (code < 200) continue
    count++
    if (code === 204 || code === 304) continue
    const length = fields.get('content-length')
    if (length !== undefined) offset += Number(length)
    else {
      assert.equal(fields.get('transfer-encoding'), 'chunked')
      const end = findEndOfChunks(text, offset)
      if (end === undefined) return count
      offset = end
    }
  }
  return count
}

/** Finds the end of a chunked body, undefined when it is incomplete. */
function findEndOfChunks(text: string, start: number): number | undefined {
  for (let offset = start; ; ) {
    const line = text.indexOf('\r\n', offset)
    if (line === -1) return undefined
    const digits = text.slice(offset, line)
    assert.match(digits, /^(0|[1-9a-f][0-9a-f]*)$/)
    offset = line + 2
    if (digits !== '0') {
      offset += Number.parseInt(digits, 16) + 2
      if (offset > text.length) return undefined
      assert.equal(text.slice(offset - 2, offset), '\r\n')
      continue
    }
    const end = text.startsWith('\r\n', offset) ? offset + 2 : text.indexOf('\r\n\r\n', offset) + 4
    return end === 3 ? undefined : end
  }
}
