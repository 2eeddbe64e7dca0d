import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { HTTP_VERSIONS, startPolicyEndpoint } from '../testing/policy-endpoint.ts'

const find = (phase: string, ...replacements: { from: string; to: string }[]) => ({
  type: `${phase}-body-find-replace`,
  config: { replacements },
})

const PAGE = 'see http://db.internal:5432 and http://db.internal/x'

const CONTENT: Record<string, RequestListener> = {
  '/page': (_request, response) =>
    response.writeHead(200, { etag: '"1"', 'content-md5': 'x', 'content-length': PAGE.length }).end(PAGE),
  '/chunks': (_request, response) => {
    response.write('http://db.int')
    setImmediate(() => response.end('ernal/'))
  },
  '/gzip': (_request, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(PAGE)),
  '/br': (_request, response) => response.setHeader('content-encoding', 'br').end(brotliCompressSync(PAGE)),
  '/unmatched': (_request, response) =>
    response.setHeader('content-encoding', 'gzip').end(gzipSync('nothing')),
  '/unknown': (_request, response) => response.setHeader('content-encoding', 'x-secret').end(PAGE),
  '/binary': (_request, response) => response.end(Buffer.from([0xff, 0x00, ...Buffer.from(PAGE)])),
  '/part': (_request, response) => response.writeHead(206).end(PAGE),
  '/events': (_request, response) => {
    response.setHeader('content-type', 'text/event-stream')
    response.end('data: http://db.internal\n\n')
  },
  '/empty': (_request, response) => response.writeHead(204).end(),
  '/large': (_request, response) => response.end(Buffer.alloc(1024 * 1024 + 1, 'a')),
  '/large-chunks': (_request, response) => {
    response.write(Buffer.alloc(1024 * 1024, 'a'))
    response.end('a')
  },
}

const listener: RequestListener = (request, response) => CONTENT[request.url ?? '']!(request, response)

for (const version of HTTP_VERSIONS) {
  test(`response-body-find-replace changes what the visitor gets (${version})`, async (t) => {
    const policy = {
      on_http_response: [
        {
          actions: [
            find('response', { from: 'http://([a-z.]+)', to: '<$1>' }, { from: 'db\\.internal', to: 'db' }),
            {
              type: 'add-headers',
              config: {
                headers: {
                  'x-found':
                    '${actions.ngrok.response_body_find_replace.replacements.map(r, r.replacement_index)}',
                },
              },
            },
          ],
        },
      ],
    }
    const { ask } = await startPolicyEndpoint(t, JSON.stringify(policy), { listener })
    const textOf = async (path: string) => (await ask({ path }, version)).text
    const changed = 'see <db>:5432 and <db>/x'

    const page = await ask({ path: '/page' }, version)
    assert.equal(page.text, changed)
    assert.equal(page.headers['content-length'], String(changed.length))
    assert.deepEqual([page.headers.etag, page.headers['content-md5']], ['W/"1"', undefined])
    assert.equal(page.headers['x-found'], '[0,0,1,1]')
    assert.equal(await textOf('/chunks'), '<db>/')
    for (const path of ['/gzip', '/br']) {
      const decoded = await ask({ path }, version)
      assert.deepEqual([decoded.text, decoded.headers['content-encoding']], [changed, undefined])
    }
    const unmatched = await ask({ path: '/unmatched' }, version)
    assert.equal(gunzipSync(unmatched.body).toString(), 'nothing')
    assert.deepEqual([unmatched.headers['content-encoding'], unmatched.headers['x-found']], ['gzip', '[]'])
  })

  test(`bodies that cannot be read as a text stay as they are, larger ones are rejected (${version})`, async (t) => {
    const policy = { on_http_response: [{ actions: [find('response', { from: 'http.*', to: '' })] }] }
    const { ask } = await startPolicyEndpoint(t, JSON.stringify(policy), { listener })

    for (const path of ['/unknown', '/part']) assert.equal((await ask({ path }, version)).text, PAGE, path)
    assert.ok((await ask({ path: '/binary' }, version)).body.includes(PAGE))
    assert.equal((await ask({ path: '/events' }, version)).text, 'data: http://db.internal\n\n')
    assert.equal((await ask({ path: '/empty' }, version)).status, 204)
    const head = await ask({ path: '/page', method: 'HEAD' }, version)
    assert.deepEqual([head.status, head.headers['content-length']], [200, undefined])
    for (const path of ['/large', '/large-chunks']) {
      const rejected = await ask({ path }, version)
      assert.equal(rejected.status, 500, path)
      assert.match(rejected.text, /ERR_ADIT_2300/)
    }
  })

  test(`request-body-find-replace changes what the upstream gets (${version})`, async (t) => {
    const policy = {
      on_http_request: [
        {
          actions: [
            find('request', { from: '"secret": ?"[^"]*"', to: '"secret":"${req.method}"' }),
            find('request', { from: 'POST', to: 'was POST' }),
            {
              type: 'add-headers',
              config: {
                headers: {
                  'x-found': '${actions.ngrok.request_body_find_replace.replacements[0].matched_content}',
                },
              },
            },
          ],
        },
      ],
    }
    const { ask } = await startPolicyEndpoint(t, JSON.stringify(policy))
    const send = async (body: string | Buffer, headers: Record<string, string> = {}) => {
      const response = await ask({ method: 'POST', body, headers }, version)
      return JSON.parse(response.text) as { body: string; headers: Record<string, string> }
    }
    const changed = '{"secret":"was POST"}'

    const plain = await send('{"secret": "abc"}')
    assert.equal(plain.body, changed)
    assert.equal(plain.headers['x-found'], 'POST')
    if (version === 'HTTP/1.1') assert.equal(plain.headers['content-length'], String(changed.length))
    const gzipped = await send(gzipSync('{"secret":"abc"}'), { 'content-encoding': 'gzip' })
    assert.deepEqual([gzipped.body, gzipped.headers['content-encoding']], [changed, undefined])
    if (version === 'HTTP/1.1')
      assert.equal((await send('{"secret":"abc"}', { 'transfer-encoding': 'chunked' })).body, changed)
    assert.equal((await ask({ method: 'GET' }, version)).status, 500, 'the header cannot be computed')
    const damaged = await ask({ method: 'POST', body: 'x', headers: { 'content-encoding': 'gzip' } }, version)
    assert.equal(damaged.status, 500)
  })
}

test('a pattern that takes too long on a body denies, and other requests are served meanwhile', async (t) => {
  const policy = {
    on_http_request: [
      {
        expressions: ["req.method == 'POST'"],
        actions: [find('request', { from: '(a|a|a|a|a|a|a|a)*(b|b|b|b|b|b)*c', to: '' })],
      },
    ],
  }
  const { ask } = await startPolicyEndpoint(t, JSON.stringify(policy))
  let isDone = false
  const slow = ask({ method: 'POST', body: 'a'.repeat(1_000_000) }).finally(() => {
    isDone = true
  })

  assert.equal((await ask()).status, 200)
  assert.equal(isDone, false)
  assert.equal((await slow).status, 500)
})
