import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { shareApi, type TestApi } from '../../../test/support/api.ts'
import { assertRejected } from '../../../test/support/assert-rejected.ts'

const { fresh } = await shareApi()

const MIB = 1024 * 1024

async function start(): Promise<{ api: TestApi; id: string }> {
  const api = await fresh()
  const { id } = await api.call.create('/ip_policies', { description: 'untouched' })
  return { api, id }
}

test('a body that is not one JSON object is rejected and changes nothing', async () => {
  const { api, id } = await start()
  const deep = `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`
  const bodies: [what: string, raw: string, status: number][] = [
    ['truncated', '{"description":"x"', 400],
    ['two values', '{} {}', 400],
    ['words', 'description=x', 400],
    ['single quotes', "{'description':'x'}", 400],
    ['a comment', '{/* */}', 400],
    ['a trailing comma', '{"description":"x",}', 400],
    ['NaN', '{"description":NaN}', 400],
    ['null', 'null', 400],
    ['a list', '[]', 400],
    ['a text', '"x"', 400],
    ['a number', '1', 400],
    ['a key twice', '{"description":"x","description":"y"}', 400],
    ['a key twice in another spelling', '{"description":"x","\\u0064escription":"y"}', 400],
    ['__proto__', '{"__proto__":{"description":"x"}}', 400],
    ['__proto__ further down', '{"metadata":{"__proto__":1}}', 400],
    ['constructor', '{"constructor":{"prototype":{}}}', 400],
    ['33 levels', deep, 400],
    ['100,000 levels', '['.repeat(100_000), 400],
    ['a mebibyte and one', JSON.stringify({ description: 'x'.repeat(MIB) }), 413],
  ]
  for (const [what, raw, status] of bodies) {
    await assertRejected(api, () => api.call('POST', '/ip_policies', { raw }), {
      status,
      what: `POST ${what}`,
    })
    await assertRejected(api, () => api.call('PATCH', `/ip_policies/${id}`, { raw }), {
      status,
      what: `PATCH ${what}`,
    })
  }
})

test('bytes that are not UTF-8 are rejected', async () => {
  const { api } = await start()
  const body = Buffer.concat([Buffer.from('{"description":"'), Buffer.from([0xff, 0xc0]), Buffer.from('"}')])

  const response = await fetch(`${api.url}/ip_policies`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${api.account.apiKey.reveal()}`, 'content-type': 'application/json' },
  })

  assert.equal(response.status, 400)
  assert.match(((await response.json()) as { msg: string }).msg, /UTF-8/)
})

test('every character is returned as it was sent', async () => {
  const { api } = await start()
  const metadata = 'tab \t, quote ", backslash \\, é, 🙂, \u2028, \uffff'

  const created = await api.call('POST', '/ip_policies', { body: { metadata } })

  assert.equal(created.body.metadata, metadata)
  assert.equal((await api.call('GET', `/ip_policies/${created.body.id}`)).body.metadata, metadata)
})

test('a creation without a body is like one with an empty object', async () => {
  const { api } = await start()

  for (const options of [{}, { headers: { 'content-type': 'application/json' } }])
    assert.equal((await api.call('POST', '/ip_policies', options)).status, 201)
})

test('only JSON is accepted', async () => {
  const { api } = await start()
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    'multipart/form-data',
  ])
    await assertRejected(
      api,
      () => api.call('POST', '/ip_policies', { raw: '{}', headers: { 'content-type': type } }),
      { status: 415, what: type },
    )
  for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON'])
    assert.equal(
      (await api.call('POST', '/ip_policies', { raw: '{}', headers: { 'content-type': type } })).status,
      201,
      type,
    )
})

test('reads and deletions accept no body', async () => {
  const { api, id } = await start()

  await assertRejected(api, () => api.call('DELETE', `/ip_policies/${id}`, { body: { description: 'x' } }), {
    status: 400,
    what: 'DELETE with a body',
  })
  const answer = await exchange(
    api,
    `GET /ip_policies/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.account.apiKey.reveal()}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
  )
  assert.match(answer, /^HTTP\/1\.1 400 /)
  assert.match(answer, /ERR_ADIT_211/)
  const inChunks = (method: string, chunks: string, type = '') =>
    exchange(
      api,
      `${method} /ip_policies/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.account.apiKey.reveal()}\r\n${type}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunks}0\r\n\r\n`,
    )
  const json = 'Content-Type: application/json\r\n'
  for (const [method, chunks, type] of [
    ['DELETE', '2\r\n{}\r\n', json],
    ['DELETE', '1\r\n{\r\n', json],
    ['DELETE', '2\r\n{}\r\n', ''],
    ['GET', '2\r\n{}\r\n', json],
  ] as const)
    assert.match(await inChunks(method, chunks, type), /^HTTP\/1\.1 400 .*ERR_ADIT_211/s)
  assert.equal((await api.call('GET', `/ip_policies/${id}`)).body.description, 'untouched')
  for (const [type, status] of [
    ['', 204],
    [json, 404],
  ] as const)
    assert.ok((await inChunks('DELETE', '', type)).startsWith(`HTTP/1.1 ${status} `), 'no body, in chunks')
})

test('invalid paging parameters are rejected by name', async () => {
  const { api, id } = await start()
  const key = (await api.call('GET', '/api_keys')).body.keys[0].id
  for (const query of [
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=1.5',
    'limit=',
    'limit=ten',
    'limit=1&limit=2',
    'before_id=',
    'before_id=x',
    `before_id=${key}`,
    `before_id=${id}&before_id=${id}`,
    'beforeId=x',
    'page=1',
    'filter=x',
    '__proto__=1',
  ])
    await assertRejected(api, () => api.call('GET', `/ip_policies?${query}`), { status: 400, what: query })
  for (const query of ['', 'limit=1', 'limit=100', `before_id=${id}`, `limit=5&before_id=${id}`])
    assert.equal((await api.call('GET', `/ip_policies?${query}`)).status, 200, query)
})

test('unknown paths get an error response of the same shape', async () => {
  const { api } = await start()
  for (const [path, status] of [
    ['/nothing', 404],
    ['/ip_policies/', 404],
    ['/ip_policies/x/y', 404],
    ['/v2/ip_policies', 404],
    ['/%zz', 400],
    ['/ip_policies/%', 400],
    [`/ip_policies/${'x'.repeat(3000)}`, 404],
    ['/../etc/passwd', 404],
    ['/favicon.ico', 404],
  ] as const) {
    const answer = await assertRejected(api, () => api.call('GET', path), { status, what: path })
    assert.equal(answer.headers.get('adit-operation-id'), answer.body.details.operation_id, path)
    assert.equal(answer.headers.get('cache-control'), 'no-store', path)
  }
})

test('repeated slashes count as one', async () => {
  const { api, id } = await start()

  const answer = await api.call('GET', `//ip_policies///${id}`)

  assert.equal(answer.status, 200)
})

test('the request target may be in absolute form, as for a proxy', async () => {
  const { api, id } = await start()
  const key = api.account.apiKey.reveal()
  for (const [target, status] of [
    [`http://api.example.com/ip_policies/${id}`, 200],
    [`HTTPS://api.example.com:443//ip_policies//${id}`, 200],
    ['http://api.example.com/ip_policies?limit=1', 200],
    ['http://api.example.com', 200],
    ['http://api.example.com?limit=1', 400],
    [`/ip_policies/${id}?at=http://a//b`, 400],
  ] as const) {
    const answer = await exchange(
      api,
      `GET ${target} HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
    )
    assert.ok(answer.startsWith(`HTTP/1.1 ${status} `), `${target}: ${answer}`)
  }
})

test('invalid HTTP gets an error response of the same shape and ends only its own connection', async () => {
  const { api } = await start()
  for (const [bytes, status] of [
    ['rubbish\r\n\r\n', 400],
    ['GET /ip_policies HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
  ] as const) {
    const answer = await exchange(api, bytes)

    assert.ok(answer.startsWith(`HTTP/1.1 ${status} `), answer.slice(0, 80))
    const { error_code, status_code, details } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
    assert.match(answer, new RegExp(`^adit-operation-id: ${details.operation_id}\r$`, 'im'))
    assert.match(answer, /^cache-control: no-store\r$/im)
    assert.match(error_code, /^ERR_ADIT_/)
    assert.equal(status_code, status)
    assert.match(details.operation_id, /^op_/)
  }
  assert.equal((await api.call('GET', '/healthz')).status, 200)
})

test('a rejected connection that the client keeps open is closed', async (t) => {
  const { api } = await start()
  const { hostname, port } = new URL(api.url)
  const connected = once(api.http.server, 'connection')
  // The client keeps its side open.
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  t.after(() => socket.destroy())
  socket.resume()
  socket.write('rubbish\r\n\r\n')
  const [served] = await connected
  const closed = once(served, 'close')
  await once(socket, 'end')

  await closed
})

async function exchange(api: TestApi, bytes: string): Promise<string> {
  const { hostname, port } = new URL(api.url)
  const socket = connect(Number(port), hostname)
  socket.setEncoding('utf8')
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.write(bytes)
  await once(socket, 'close')
  return answer
}
