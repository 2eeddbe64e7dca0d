import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { collectGarbage } from '../../../test/support/collect-garbage.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { CaptureStore } from './capture-store.ts'
import { MAX_BODY_BYTES } from './message-copy.ts'

const HEAD = Buffer.from('POST /x HTTP/1.1\r\nHost: a\r\nAuthorization: Basic secret\r\n\r\n')
const RESPONSE = Buffer.from('HTTP/1.1 200 OK\r\nSet-Cookie: id=secret\r\n\r\n')

test('captures are listed newest first, by tunnel and up to a limit', () => {
  const store = new CaptureStore(1e6)
  const first = store.begin('a', '1.1.1.1', HEAD, 1000)
  const second = store.begin('b', '1.1.1.1', HEAD, 1000)
  const third = store.begin('a', '1.1.1.1', HEAD, 1000)

  assert.deepEqual(store.list(), [third, second, first])
  assert.deepEqual(store.list(1), [third])
  assert.deepEqual(store.list(10, 'b'), [second])
  assert.deepEqual(store.list(10, 'unknown'), [])
})

test('ids are ordered by time, even if the clock steps back', () => {
  const store = new CaptureStore(1e9)
  const times = [5000, 5000, 5001, 9000, 2000, 9000, 12_000]

  const ids = times.map((time) => store.begin('a', '', HEAD, time).id)

  assert.deepEqual([...ids].sort(), ids)
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^airt_[0-9A-Za-z]{27}$/)
})

test('raw bytes are a copy of the message, independent of the chunks', () => {
  const store = new CaptureStore(1e6)
  const capture = store.begin('a', '', HEAD, 0)
  const chunk = Buffer.from('body')

  store.addRequestBody(capture, chunk)
  store.addResponse(capture, RESPONSE, 5)
  store.addResponseBody(capture, chunk)
  chunk.fill(0)
  store.end(capture, 9)

  assert.equal(capture.request.raw().toString(), `${HEAD}body`)
  assert.equal(capture.response?.raw().toString(), `${RESPONSE}body`)
  assert.equal(capture.durationNs, 9)
  assert.ok(capture.replayable)
})

test('a body beyond the limit is truncated, marked and not replayable', () => {
  const store = new CaptureStore(10e6)
  const capture = store.begin('a', '', HEAD, 0)

  store.addRequestBody(capture, Buffer.alloc(MAX_BODY_BYTES - 1))
  store.addRequestBody(capture, Buffer.alloc(10))

  assert.equal(capture.request.body().length, MAX_BODY_BYTES)
  assert.equal(capture.request.bodyBytes, MAX_BODY_BYTES + 9)
  assert.ok(capture.request.truncated)
  assert.ok(!capture.replayable)
})

test('memory stays within the limit, and the oldest captures are evicted first', () => {
  const limit = 5e6
  const store = new CaptureStore(limit)
  const chunk = Buffer.alloc(64 * 1024)

  let last = ''
  for (let n = 0; n < 50; n++) {
    const capture = store.begin('a', '', HEAD, 0)
    last = capture.id
    for (let bytes = 0; bytes < MAX_BODY_BYTES; bytes += chunk.length) {
      store.addRequestBody(capture, chunk)
      assert.ok(store.bytes <= limit, `${store.bytes} bytes`)
    }
    store.end(capture, 1)
  }

  assert.equal(store.size, 4)
  assert.equal(store.list()[0]?.request.body().length, MAX_BODY_BYTES)
  assert.equal(store.list()[0]?.id, last)
})

test('bodies are stored byte for byte for any chunk size', () => {
  const store = new CaptureStore(20e6)
  const payload = randomBytes(300_000)

  for (const step of [1, 1000, 4096, 32_768, 70_000, 300_000]) {
    const capture = store.begin('a', '', HEAD, 0)
    const size = step === 1 ? 5000 : payload.length
    for (let offset = 0; offset < size; offset += step)
      store.addRequestBody(capture, payload.subarray(offset, Math.min(offset + step, size)))
    assert.ok(capture.request.body().equals(payload.subarray(0, size)), `chunks of ${step}`)
  }
})

test('memory of evicted bodies is reused and never leaks into other captures', () => {
  const store = new CaptureStore(300_000)

  for (let n = 0; n < 50; n++) {
    const capture = store.begin('a', '', HEAD, 0)
    store.addRequestBody(capture, Buffer.alloc(100_000, n))
    store.end(capture, 1)
    for (const stored of store.list()) {
      const body = stored.request.body()
      assert.ok(body.every((byte) => byte === body[0]))
      assert.equal(body.length, 100_000)
    }
  }
})

test('an exchange evicted while in flight is no longer captured', () => {
  const store = new CaptureStore(100_000)
  const old = store.begin('a', '', HEAD, 0)
  store.addRequestBody(store.begin('a', '', HEAD, 0), Buffer.alloc(99_000))

  store.addResponse(old, RESPONSE, 1)

  assert.equal(store.get(old.id), undefined)
  assert.equal(old.response, undefined)
  assert.ok(store.bytes <= 100_000)
})

test('clearing removes everything, including exchanges in flight', () => {
  const store = new CaptureStore(1e6)
  const capture = store.begin('a', '', HEAD, 0)
  let cleared = 0
  store.follow(
    () => {},
    () => cleared++,
  )

  store.clear()
  store.addRequestBody(capture, Buffer.alloc(100))

  assert.equal(store.size, 0)
  assert.equal(store.bytes, 0)
  assert.equal(cleared, 1)
})

test('redacted fields are never stored and make a request not replayable', () => {
  const store = new CaptureStore(1e6, ['Authorization', 'set-cookie'])
  const capture = store.begin('a', '', HEAD, 0)
  store.addResponse(capture, RESPONSE, 1)

  assert.doesNotMatch(capture.request.raw().toString() + capture.response?.raw().toString(), /secret/)
  assert.match(capture.request.raw().toString(), /Authorization: \[redacted\]/)
  assert.ok(!capture.replayable)
})

test('followers are notified of the request, the response and the end until they unsubscribe', () => {
  const store = new CaptureStore(1e6)
  const events: string[] = []
  const stop = store.follow((capture) => events.push(capture.response ? 'response' : 'request'))
  const capture = store.begin('a', '', HEAD, 0)
  store.addResponse(capture, RESPONSE, 1)
  store.end(capture, 1)
  stop()
  store.begin('a', '', HEAD, 0)

  assert.deepEqual(events, ['request', 'response', 'response'])
})

test('evicted captures that are still referenced retain nothing', async () => {
  const store = new CaptureStore(100_000)
  collectGarbage()
  const initialBytes = process.memoryUsage().arrayBuffers

  const evicted = Array.from({ length: 100 }, () => {
    const capture = store.begin('a', '', HEAD, 0)
    for (let count = 0; count < 1000; count++) store.end(store.begin('a', '', HEAD, 0), 1)
    return capture
  })

  await eventually(
    () => {
      collectGarbage()
      return process.memoryUsage().arrayBuffers - initialBytes <= 1e6
    },
    () => `${process.memoryUsage().arrayBuffers - initialBytes} bytes`,
  )
  for (const { stored, replayable, request } of evicted)
    assert.deepEqual([stored, replayable, request.raw().length], [false, false, 0])
})

test('500 requests of one mebibyte cost the process little more than the limit', async () => {
  const store = new CaptureStore(50e6)
  const chunk = Buffer.alloc(32_768)
  const initialRss = process.memoryUsage().rss

  let peakRss = 0
  for (let n = 0; n < 500; n++) {
    const capture = store.begin('a', '', HEAD, 0)
    for (let bytes = 0; bytes < MAX_BODY_BYTES; bytes += chunk.length) store.addRequestBody(capture, chunk)
    store.end(capture, 1)
    await new Promise((resolve) => setImmediate(resolve))
    peakRss = Math.max(peakRss, process.memoryUsage().rss)
  }

  assert.ok(peakRss - initialRss < 50e6 + 32 * 1024 * 1024, `${(peakRss - initialRss) / 1e6} MB`)
})

test('concurrent exchanges stay within the limit', () => {
  const limit = 10e6
  const store = new CaptureStore(limit)
  const chunk = Buffer.alloc(32_768)
  const captures = Array.from({ length: 200 }, () => store.begin('a', '', HEAD, 0))
  for (const capture of captures) store.addResponse(capture, RESPONSE, 1)

  for (let bytes = 0; bytes < MAX_BODY_BYTES; bytes += chunk.length) {
    for (const capture of captures) store.addResponseBody(capture, chunk)
    assert.ok(store.bytes <= limit, `${store.bytes} bytes`)
  }

  const heldBytes = captures.reduce((sum, { response }) => sum + response!.size, 0)
  assert.ok(heldBytes <= limit + 200 * RESPONSE.length, `${heldBytes} bytes are still held`)
})

test('captures retain no other memory, whatever is allocated in between', async () => {
  const limit = 4e6
  const store = new CaptureStore(limit)
  collectGarbage()
  const initialBytes = process.memoryUsage().arrayBuffers

  // First bodies that fill the limit, then heads alone, then bodies in tiny chunks.
  for (let n = 0; n < 8; n++)
    store.addRequestBody(store.begin('a', '', HEAD, 0), Buffer.alloc(MAX_BODY_BYTES))
  for (let n = 0; n < 3000; n++) {
    store.begin('a', '', HEAD, 0)
    Buffer.allocUnsafe(30_000)
  }
  for (let n = 0; n < 1000; n++) {
    const capture = store.begin('a', '', HEAD, 0)
    for (let bytes = 0; bytes < 2000; bytes += 20) store.addRequestBody(capture, Buffer.alloc(20))
  }
  // What the collection leaves to finalizers is freed in the turns after it.
  await eventually(
    () => {
      collectGarbage()
      return process.memoryUsage().arrayBuffers - initialBytes <= limit * 1.5
    },
    () => `${process.memoryUsage().arrayBuffers - initialBytes} bytes for a limit of ${limit}`,
  )
  assert.ok(store.bytes <= limit)
})

test('pinned captures stay while others are evicted, and until the last when they outgrow the limit', () => {
  const store = new CaptureStore(20_000)
  const pinned = store.begin('a', '', HEAD, 0)
  store.end(pinned, 1)
  assert.ok(store.pin(pinned, true))

  for (let count = 0; count < 50; count++) store.end(store.begin('a', '', HEAD, 0), 1)
  assert.equal(store.get(pinned.id), pinned)
  assert.equal(store.list().at(-1), pinned)
  assert.ok(store.bytes <= 20_000)

  store.pin(pinned, false)
  for (let count = 0; count < 50; count++) store.end(store.begin('a', '', HEAD, 0), 1)
  assert.equal(store.get(pinned.id), undefined)
  assert.ok(store.bytes <= 20_000)

  const growing = store.begin('a', '', HEAD, 0)
  store.pin(growing, true)
  store.addRequestBody(growing, Buffer.alloc(60_000))
  assert.equal(store.get(growing.id), undefined)
  assert.equal(store.bytes, 0)
})

test('pinned captures take at most half of the memory', () => {
  const store = new CaptureStore(20_000)
  const captures = Array.from({ length: 15 }, () => store.begin('a', '', HEAD, 0))

  const accepted = captures.filter((capture) => store.pin(capture, true))

  assert.equal(accepted.length, 9)
  store.pin(accepted[0]!, false)
  assert.ok(store.pin(captures[14]!, true))
})

test('a clear keeps pinned captures if asked to, and announces them again', () => {
  const store = new CaptureStore(1e6)
  const [first, pinned] = [store.begin('a', '', HEAD, 0), store.begin('a', '', HEAD, 0)]
  store.pin(pinned, true)
  const events: string[] = []
  store.follow(
    ({ id }) => events.push(id),
    () => events.push('clear'),
  )

  store.clear({ keepPinned: true })

  assert.deepEqual(store.list(), [pinned])
  assert.equal(store.get(first.id), undefined)
  assert.deepEqual(events, ['clear', pinned.id])
  store.clear()
  assert.equal(store.size, 0)
  assert.equal(store.bytes, 0)
})
