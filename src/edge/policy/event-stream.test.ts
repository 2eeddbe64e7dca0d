import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import { brotliDecompressSync, gzipSync } from 'node:zlib'
import { HTTP_VERSIONS, startPolicyEndpoint } from '../testing/policy-endpoint.ts'

const EVENTS =
  ': hello\r\n\r\nid: 1\ndata: key=secret-1\ndata: second\n\nretry: 1000\ndata:none\n\nevent: x\rdata: secret-22\r\rdata: secret-3'

const CHANGED =
  ': hello\n\nid: 1\ndata: key=*\ndata: second\n\nretry: 5000\ndata:none\n\nevent: x\ndata: *\n\ndata: *\n\n'

const CONTENT: Record<string, RequestListener> = {
  '/events': (_request, response) => response.end(EVENTS),
  '/bytes': (_request, response) => {
    for (const byte of Buffer.from(EVENTS)) response.write(Buffer.of(byte))
    response.end()
  },
  '/gzip': (_request, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(EVENTS)),
  '/text': (_request, response) => response.setHeader('content-type', 'text/plain').end(EVENTS),
  '/long': (_request, response) => response.end(`data: ${'a'.repeat(1024 * 1024)}\n\n`),
}

const listener: RequestListener = (request, response) => {
  response.setHeader('content-type', 'text/event-stream; charset=utf-8')
  CONTENT[request.url ?? '']!(request, response)
}

const replacements = [
  { from: 'secret-\\d+', to: '*' },
  { field: 'retry', from: '^1000$', to: '5000' },
]

for (const version of HTTP_VERSIONS)
  test(`sse-find-replace changes each message of an event stream (${version})`, async (t) => {
    const { ask } = await startPolicyEndpoint(
      t,
      JSON.stringify({
        on_event_stream_message: [
          {
            expressions: ["res.content_type == 'text/event-stream'", "req.url.path != '/other'"],
            actions: [{ type: 'sse-find-replace', config: { replacements } }],
          },
        ],
        on_http_response: [{ actions: [{ type: 'compress-response', config: {} }] }],
      }),
      { listener },
    )

    for (const path of ['/events', '/bytes', '/gzip']) {
      const { text, headers } = await ask({ path }, version)
      assert.deepEqual([text, headers['content-encoding']], [CHANGED, undefined], path)
    }
    const compressed = await ask({ path: '/events', headers: { 'accept-encoding': 'br' } }, version)
    assert.equal(brotliDecompressSync(compressed.body).toString(), CHANGED)
    assert.equal((await ask({ path: '/text' }, version)).text, EVENTS)
    const { text, error } = await ask({ path: '/long' }, version)
    assert.deepEqual([text, error === ''], ['', false], 'a message that is too long breaks the stream off')
  })

test('a slow pattern of sse-find-replace runs in a thread', async (t) => {
  const long = 'a'.repeat(20_000)
  const config = { replacements: [{ from: '(a|b)*c', to: '*' }] }
  const { ask } = await startPolicyEndpoint(
    t,
    JSON.stringify({ on_event_stream_message: [{ actions: [{ type: 'sse-find-replace', config }] }] }),
    {
      listener: (_request, response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.end(`data: ${long}c\n\ndata: short\n\n`)
      },
    },
  )

  assert.equal((await ask()).text, 'data: *\n\ndata: short\n\n')
})
