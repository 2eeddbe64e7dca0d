import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Meter } from '../metrics.ts'
import { CaptureStore } from './capture-store.ts'
import { HttpTap } from './http-tap.ts'

function createTap(limit = 1e6) {
  const time = { ms: 0 }
  const clock = { now: () => time.ms, monotonic: () => time.ms }
  const store = new CaptureStore(limit)
  const meter = new Meter(clock)
  const responses: [number, string][] = []
  const tap = new HttpTap({
    tunnelName: 'web',
    remoteAddr: '203.0.113.9',
    meter,
    store,
    clock,
    onResponse: (status, bodyStart) => responses.push([status, bodyStart.toString()]),
  })
  return { tap, store, meter, time, responses }
}

const bytes = (text: string) => Buffer.from(text, 'latin1')

test('an exchange is listed at once, and its response is added later', () => {
  const { tap, store, time, meter } = createTap()

  tap.pushRequest(bytes('GET /a HTTP/1.1\r\nHost: x\r\n\r\n'))
  assert.equal(store.list()[0]?.response, undefined)
  assert.equal(meter.gauge, 1)

  time.ms = 7
  tap.pushResponse(bytes('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi'))
  const [capture] = store.list()
  assert.equal(capture?.response?.raw().toString(), 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')
  assert.equal(capture?.durationNs, 7e6)
  assert.equal(capture?.remoteAddr, '203.0.113.9')
  assert.equal(meter.snapshot().p50, 7e6)
  assert.equal(meter.gauge, 0)
})

test('each request on a connection is a separate capture', () => {
  const { tap, store } = createTap()

  for (const path of ['/1', '/2', '/3']) {
    tap.pushRequest(bytes(`POST ${path} HTTP/1.1\r\nContent-Length: 2\r\n\r\nab`))
    tap.pushResponse(bytes('HTTP/1.1 204 No Content\r\n\r\n'))
  }

  assert.deepEqual(
    store.list().map((capture) => capture.request.raw().toString().slice(5, 7)),
    ['/3', '/2', '/1'],
  )
})

test('interim responses are not captured', () => {
  const { tap, store } = createTap()

  tap.pushRequest(bytes('POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n'))
  tap.pushResponse(bytes('HTTP/1.1 100 Continue\r\n\r\n'))
  assert.equal(store.list()[0]?.response, undefined)

  tap.pushRequest(bytes('a'))
  tap.pushResponse(bytes('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
  assert.match(store.list()[0]?.response?.raw().toString() ?? '', /^HTTP\/1.1 200/)
})

test('an upgrade is captured and its frames are not parsed as requests', () => {
  const { tap, store } = createTap()

  tap.pushRequest(bytes('GET /ws HTTP/1.1\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n'))
  tap.pushResponse(bytes('HTTP/1.1 101 Switching Protocols\r\n\r\n\u0081\u0002hi'))
  tap.pushRequest(bytes('GET /not-a-request HTTP/1.1\r\n\r\n'))

  assert.equal(store.size, 1)
  assert.equal(store.list()[0]?.open, false)
})

test('a connection that ends without a response records the reason', () => {
  const { tap, store, meter } = createTap()

  tap.pushRequest(bytes('GET / HTTP/1.1\r\n\r\n'))
  tap.close()

  assert.match(store.list()[0]?.error ?? '', /ended before/)
  assert.equal(store.list()[0]?.response, undefined)
  assert.equal(meter.gauge, 0)
})

test('a response delimited by the end of the connection is complete', () => {
  const { tap, store } = createTap()

  tap.pushRequest(bytes('GET / HTTP/1.0\r\n\r\n'))
  tap.pushResponse(bytes('HTTP/1.0 200 OK\r\n\r\nall of it'))
  tap.finishResponse()
  tap.close()

  assert.equal(store.list()[0]?.response?.truncated, false)
  assert.equal(store.list()[0]?.error, undefined)
})

test('data that is not HTTP is ignored', () => {
  const { tap, store } = createTap()

  tap.pushRequest(bytes('\u0016\u0003\u0001 not http\r\n\r\n'))
  tap.pushResponse(bytes('nor this\r\n\r\n'))
  tap.close()

  assert.equal(store.size, 0)
})

test('the beginning of a response body is reported once', () => {
  const { tap, responses } = createTap()

  tap.pushRequest(bytes('GET / HTTP/1.1\r\n\r\n'))
  tap.pushResponse(bytes('HTTP/1.1 403 Forbidden\r\nContent-Length: 19\r\n\r\nInvalid Host'))
  tap.pushResponse(bytes(' header'))

  assert.deepEqual(responses, [[403, 'Invalid Host']])
})

test('a request can be replayed once it is complete, and never if it was truncated', () => {
  const { tap, store } = createTap()

  tap.pushRequest(bytes('POST /whole HTTP/1.1\r\nContent-Length: 4\r\n\r\nab'))
  const [complete] = store.list()
  const replayableWhileArriving = complete?.replayable
  tap.pushRequest(bytes('cd'))
  const replayableWhenComplete = complete?.replayable
  tap.pushRequest(bytes('POST /cut HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab'))
  tap.close()
  const [truncated] = store.list()

  assert.deepEqual([replayableWhileArriving, replayableWhenComplete], [false, true])
  assert.equal(truncated?.replayable, false)
  assert.equal(truncated?.request.truncated, true)
  assert.equal(complete?.request.truncated, false)
})
