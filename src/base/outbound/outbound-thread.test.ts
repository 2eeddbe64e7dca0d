import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { OutboundProblem } from './outbound.ts'
import { createOutboundThread, type ThreadOptions } from './outbound-thread.ts'

interface Seen {
  method: string | undefined
  headers: IncomingHttpHeaders
  body: Buffer
}

/** A server that echoes the request, except where the path says otherwise. */
async function startReceiver(t: TestContext) {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    seen.push({ method: request.method, headers: request.headers, body })
    if (request.url === '/silent') return
    if (request.url === '/nothing') response.writeHead(204, { 'x-told': 'yes' }).end()
    else response.writeHead(207, { 'content-type': 'text/plain' }).end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function start(t: TestContext, options: ThreadOptions = { allow: ['127.0.0.1'] }) {
  const outbound = createOutboundThread(options)
  t.after(() => outbound.close())
  return outbound
}

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'answered',
    (error) => (error instanceof OutboundProblem ? error.code : String(error)),
  )

test('request and response bodies arrive complete', async (t) => {
  const { seen, url } = await startReceiver(t)
  const outbound = start(t)
  const block = Buffer.alloc(500_000, 'ä')
  const sent = block.subarray(100, 400_100)
  const before = Buffer.from(sent)

  const calling = outbound.fetch(url, { method: 'PUT', headers: { 'x-one': '1' }, body: sent })
  block.fill(0)
  const response = await calling
  const empty = await outbound.fetch(`${url}/nothing`)

  assert.ok(Buffer.from(await response.arrayBuffer()).equals(before))
  assert.deepEqual([response.status, response.headers.get('content-type')], [207, 'text/plain'])
  assert.deepEqual([seen[0]?.method, seen[0]?.headers['x-one']], ['PUT', '1'])
  assert.deepEqual([empty.status, empty.headers.get('x-told'), await empty.text()], [204, 'yes', ''])
})

test('text and forms are sent as such', async (t) => {
  const { seen, url } = await startReceiver(t)
  const outbound = start(t)

  await outbound.fetch(url, { method: 'POST', body: 'grüße' })
  await outbound.fetch(url, { method: 'POST', body: new URLSearchParams({ a: 'b c' }) })

  assert.deepEqual(
    seen.map(({ body }) => body.toString()),
    ['grüße', 'a=b+c'],
  )
  assert.match(seen[1]?.headers['content-type'] ?? '', /^application\/x-www-form-urlencoded/)
})

test('the guard applies in the thread too, and its errors come back unchanged (P45)', async (t) => {
  const { seen, url } = await startReceiver(t)
  const outbound = start(t, {})

  assert.equal(await codeOf(outbound.fetch(url)), 'scheme')
  assert.equal(await codeOf(outbound.fetch('https://127.0.0.1/')), 'address')
  assert.equal(await codeOf(outbound.fetch('nonsense')), 'url')
  await assert.rejects(outbound.fetch('https://10.0.0.1/'), /The operator can allow it/)
  assert.deepEqual(seen, [])
})

test('size and time limits apply', async (t) => {
  const { url } = await startReceiver(t)
  const outbound = start(t, { allow: ['127.0.0.1'], maxBytes: 1000, totalTimeoutMs: 300 })

  assert.equal(await codeOf(outbound.fetch(url, { method: 'POST', body: 'x'.repeat(1001) })), 'too_big')
  assert.equal(await codeOf(outbound.fetch(`${url}/silent`)), 'timeout')
})

test('a caller can abort before and during the call and gets its own reason back', async (t) => {
  const { url } = await startReceiver(t)
  const outbound = start(t)
  const abort = new AbortController()

  const calling = outbound.fetch(`${url}/silent`, { signal: abort.signal })
  abort.abort(new Error('enough'))

  await assert.rejects(calling, /enough/)
  await assert.rejects(outbound.fetch(url, { signal: abort.signal }), /enough/)
  assert.equal((await outbound.fetch(url)).status, 207)
})

test('calls in flight fail when the thread exits, and the next one starts a new thread', async (t) => {
  const { seen, url } = await startReceiver(t)
  const outbound = start(t)

  const calling = codeOf(outbound.fetch(`${url}/silent`))
  await eventually(() => seen.length === 1, 'the call at the receiver')
  await outbound.close()

  assert.equal(await calling, 'unreachable')
  assert.equal((await outbound.fetch(url)).status, 207)
})

test('a thread that hangs is replaced, also when its callers have given up', async (t) => {
  const { seen, url } = await startReceiver(t)
  const module = new URL('../testing/hanging-outbound-worker.ts', import.meta.url)
  const outbound = createOutboundThread({ allow: ['127.0.0.1'] }, module)
  t.after(() => outbound.close())
  const abort = new AbortController()

  const patient = codeOf(outbound.fetch(`${url}/hang`))
  const impatient = codeOf(outbound.fetch(url, { signal: abort.signal }))
  abort.abort(new Error('enough'))

  assert.equal(await impatient, 'Error: enough')
  assert.equal(await patient, 'unreachable')
  assert.deepEqual(seen, [])
  assert.equal((await outbound.fetch(url)).status, 207)
})
