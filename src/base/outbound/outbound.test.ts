import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type RequestListener,
} from 'node:http'
import { createServer as createHttpsServer, get as httpsGet } from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo, Server } from 'node:net'
import os from 'node:os'
import { type TestContext, test } from 'node:test'
import { createTlsIdentity } from '../../../test/support/tls.ts'
import { createOutbound, type Outbound, type OutboundOptions, OutboundProblem } from './outbound.ts'

const { ca, cert, key } = await createTlsIdentity(['localhost', 'inside.test'])
const hello: RequestListener = (_request, response) => response.end('hello')

/** A listener on this machine that counts its connections. */
async function startInternal(t: TestContext, handler = hello, secure = true, host = '127.0.0.1') {
  const server: Server = secure ? createHttpsServer({ cert, key }, handler) : createHttpServer(handler)
  const internal = { port: 0, hits: 0 }
  server.on('connection', (socket) => {
    internal.hits++
    t.after(() => socket.destroy())
  })
  server.listen(0, host)
  await once(server, 'listening')
  t.after(() => server.close())
  internal.port = (server.address() as AddressInfo).port
  return internal
}

function start(t: TestContext, options: OutboundOptions = {}): Outbound {
  const outbound = createOutbound({ extraCa: [ca], ...options })
  t.after(() => outbound.close())
  return outbound
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'answered'
  } catch (error) {
    return error instanceof OutboundProblem ? error.code : `other: ${error}`
  }
}

// Some URL parser resolves each of these to this machine. PORT is the listener's port.
const loopbackSpellings = [
  '127.0.0.1',
  '127.0.0.2',
  '127.1',
  '127.0.1',
  '127.255.255.254',
  '2130706433',
  '017700000001',
  '0x7f000001',
  '0x7F.0x0.0x0.0x1',
  '0177.0.0.1',
  '0177.0.0.01',
  '00177.0.0.1',
  '0x7f.1',
  '0x7f.0.0.0x1',
  '127.0x1',
  '127.0.0x1',
  '0177.1',
  '127.0.0.1.',
  '127.1.',
  '①②⑦.⓪.⓪.①',
  '１２７.０.０.１',
  '127。0。0。1',
  '%31%32%37.0.0.1',
  '127.0.0.%31',
  '0',
  '0.0.0.0',
  '0x0',
  '00',
  '0.0',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'LocalHost.',
  'ⓛocalhost',
  'loc%61lhost',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[::0001]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::FFFF:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:7f00:0001]',
  '[::127.0.0.1]',
  '[::7f00:1]',
  '[::ffff:0:127.0.0.1]',
  '[::ffff:0.0.0.0]',
]

const internalSpellings = [
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2002:7f00:0001::1]',
  '[2001:0:7f00:1::]',
  '[2001::80ff:fffe]',
  '[fe80::1]',
  '[fec0::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[ff02::1]',
  '[100::1]',
  '[2001:db8::1]',
  '10.0.0.1',
  '10.1',
  '012.0.0.1',
  '0xa000001',
  '167772161',
  '100.64.0.1',
  '100.127.255.255',
  '169.254.169.254',
  '0xa9fea9fe',
  '2852039166',
  '0251.0376.0251.0376',
  '[::ffff:169.254.169.254]',
  '[::ffff:a9fe:a9fe]',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '0xc0a80001',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
]

// Attacks on URL parsing, not on the address.
const trickUrls = [
  'https://user:pass@127.0.0.1:PORT/',
  'https://127.0.0.1:PORT@example.com/',
  'https://example.com@127.0.0.1:PORT/',
  'https://example.com:443@127.0.0.1:PORT/',
  'https:\\\\127.0.0.1:PORT\\',
  'https:/127.0.0.1:PORT/',
  'https:127.0.0.1:PORT',
  '\thttps://127.0.0.1:PORT/\n',
  'https://127.0.0.1\t:PORT/',
  'https://127.0.0.1:PORT#@example.com/',
  'https://127.0.0.1:PORT?@example.com/',
  'https://127.0.0.1:PORT\\@example.com/',
  'https://[::1%25lo]:PORT/',
  'https://127.0.0.1:0PORT/',
  'http://127.0.0.1:PORT/',
  'ftp://127.0.0.1:PORT/',
  'ws://127.0.0.1:PORT/',
  'file:///etc/passwd',
  'gopher://127.0.0.1:PORT/_x',
  'data:text/plain,hello',
  'blob:https://127.0.0.1:PORT/x',
  'javascript:1',
  '//127.0.0.1:PORT/',
  '127.0.0.1:PORT',
  '',
]

const hostile = [
  ...[...loopbackSpellings, ...internalSpellings].map((host) => `https://${host}:PORT/`),
  ...trickUrls,
]

test(`none of ${hostile.length} hostile URLs reaches a listener on this machine`, async (t) => {
  const internal = await startInternal(t)
  const internal6 = await startInternal(t, hello, true, '::')
  // The listeners' ports are allowed, so that only the address check can reject the call.
  const outbound = start(t, { ports: [internal.port, internal6.port] })
  assert.ok(hostile.length >= 80)

  for (const { port } of [internal, internal6]) {
    for (const url of hostile) {
      const code = await codeOf(outbound.fetch(url.replace('PORT', String(port))))

      const expectedCodes = ['url', 'scheme', 'credentials', 'address', 'dns']
      assert.ok(expectedCodes.includes(code), `${url} ended with "${code}"`)
    }
  }
  assert.equal(internal.hits + internal6.hits, 0)
})

test('the same spellings reach it once the operator allows this machine', async (t) => {
  const internal = await startInternal(t, hello, true, '::')
  const outbound = start(t, { allow: ['127.0.0.0/8', '::1', '0.0.0.0', '::'] })
  const reachable = loopbackSpellings.filter((host) => !/^\[::(127|7f00|ffff:0:)/.test(host))

  for (const host of reachable) {
    const before = internal.hits
    await codeOf(outbound.fetch(`https://${host}:${internal.port}/`, { headers: { connection: 'close' } }))

    assert.equal(internal.hits, before + 1, host)
  }
})

test('a name is resolved once, and only checked addresses are dialled', async (t) => {
  const internal = await startInternal(t)
  let lookups = 0
  // Returns a public address first and this machine afterwards: DNS rebinding.
  const lookup = async () => (lookups++ === 0 ? ['192.0.2.1'] : ['127.0.0.1'])
  const outbound = start(t, { lookup, allow: ['192.0.2.1'], totalTimeoutMs: 300 })

  const code = await codeOf(outbound.fetch(`https://rebinding.test:${internal.port}/`))

  assert.ok(['timeout', 'unreachable'].includes(code), code)
  assert.equal(lookups, 1)
  assert.equal(internal.hits, 0)
})

test('one internal address rejects the name', async (t) => {
  const internal = await startInternal(t)
  const lookup = async () => ['1.1.1.1', '127.0.0.1']
  const outbound = start(t, { lookup, ports: [internal.port] })

  assert.equal(await codeOf(outbound.fetch(`https://mixed.test:${internal.port}/`)), 'address')
  assert.equal(internal.hits, 0)
})

test('an address of this machine is rejected even when it is public', async (t) => {
  t.mock.method(os, 'networkInterfaces', () => ({ eth0: [{ address: '1.1.1.1' }] }))
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  const outbound = start(t, { lookup: async () => ['1.1.1.1'] })

  assert.equal(await codeOf(outbound.fetch('https://ourselves.test/')), 'address')
})

test('plain HTTP and other ports need the permission of the operator', async (t) => {
  const outbound = start(t, { lookup: async () => ['1.1.1.1'] })

  assert.equal(await codeOf(outbound.fetch('http://public.test/')), 'scheme')
  assert.equal(await codeOf(outbound.fetch('https://public.test:8443/')), 'port')
})

test('an allowed host may be called as configured: by name, by address, by range, over HTTP', async (t) => {
  const secure = await startInternal(t)
  const plain = await startInternal(t, hello, false)
  const lookup = async () => ['127.0.0.1']
  const allows = [
    ['inside.test'],
    ['INSIDE.test'],
    ['*.test'],
    [`inside.test:${secure.port}`, `inside.test:${plain.port}`],
    ['127.0.0.1'],
    [`127.0.0.1:${secure.port}`, `127.0.0.1:${plain.port}`],
    ['127.0.0.0/8'],
    [' 10.0.0.0/8', '', '127.0.0.0/30 '],
  ]

  for (const allow of allows) {
    const outbound = start(t, { lookup, allow })
    const first = await outbound.fetch(`https://inside.test:${secure.port}/`)
    const second = await outbound.fetch(`http://inside.test:${plain.port}/`)

    assert.equal((await first.text()) + (await second.text()), 'hellohello', allow.join())
  }
})

test('an entry for another port, name or range allows nothing', async (t) => {
  const internal = await startInternal(t)
  const lookup = async () => ['127.0.0.1']

  for (const entry of ['inside.test:1', 'side.test', '*.inside.test', '127.0.0.1:1', '127.0.0.2/32', '::1']) {
    const outbound = start(t, { lookup, allow: [entry], ports: [internal.port] })

    assert.equal(await codeOf(outbound.fetch(`https://inside.test:${internal.port}/`)), 'address', entry)
  }
  assert.equal(internal.hits, 0)
})

test('an invalid allow-list entry throws a sentence', () => {
  for (const entry of ['10.0.0.1/8', 'a b', 'https://x', 'host:99999', '*', '10.0.0.0/40'])
    assert.throws(() => createOutbound({ allow: [entry] }), /"|mask|CIDR/, entry)
})

test('the certificate of an allowed host is still checked', async (t) => {
  const internal = await startInternal(t)
  const outbound = start(t, { allow: ['127.0.0.1'], extraCa: [] })

  assert.equal(await codeOf(outbound.fetch(`https://127.0.0.1:${internal.port}/`)), 'unreachable')
})

test('requests carry default headers and ask for an uncompressed response', async (t) => {
  let headers: IncomingHttpHeaders = {}
  const internal = await startInternal(t, (request, response) => {
    headers = request.headers
    response.end()
  })
  const outbound = start(t, { allow: ['127.0.0.1'] })

  await outbound.fetch(`https://127.0.0.1:${internal.port}/`, {
    method: 'POST',
    body: new URLSearchParams({ a: 'b' }),
  })

  assert.equal(headers['content-type'], 'application/x-www-form-urlencoded;charset=UTF-8')
  assert.equal(headers['content-length'], '3')
  assert.deepEqual(
    [headers.accept, headers['accept-encoding'], headers['user-agent']],
    ['*/*', 'identity', 'adit'],
  )
})

test('a redirect is returned and never followed', async (t) => {
  const target = await startInternal(t)
  const internal = await startInternal(t, (_request, response) => {
    response.writeHead(302, { location: `https://127.0.0.1:${target.port}/` }).end()
  })
  const outbound = start(t, { allow: ['127.0.0.1'] })

  const response = await outbound.fetch(`https://127.0.0.1:${internal.port}/`)

  assert.equal(response.status, 302)
  assert.equal(response.headers.get('location'), `https://127.0.0.1:${target.port}/`)
  assert.equal(target.hits, 0)
})

test('a response over the limit is cut off, in one chunk or in many', async (t) => {
  const internal = await startInternal(t, (_request, response) => {
    const writeMore = () => {
      while (response.write('x'.repeat(16_384)));
    }
    response.on('drain', writeMore)
    writeMore()
  })
  const outbound = start(t, { allow: ['127.0.0.1'] })

  assert.equal(await codeOf(outbound.fetch(`https://127.0.0.1:${internal.port}/`)), 'too_big')
})

test('a response of exactly the limit is accepted', async (t) => {
  const internal = await startInternal(t, (_request, response) => response.end('x'.repeat(1024 * 1024)))
  const outbound = start(t, { allow: ['127.0.0.1'] })

  const response = await outbound.fetch(`https://127.0.0.1:${internal.port}/`)

  assert.equal((await response.text()).length, 1024 * 1024)
})

test('slow lookups, slow responses and slow bodies time out', async (t) => {
  const silent = await startInternal(t, () => {})
  const dripping = await startInternal(t, (_request, response) => {
    const timer = setInterval(() => response.write('x'), 20)
    response.on('close', () => clearInterval(timer))
  })
  const never = start(t, { lookup: () => new Promise(() => {}), dnsTimeoutMs: 50 })
  const outbound = start(t, { allow: ['127.0.0.1'], totalTimeoutMs: 200 })

  assert.equal(await codeOf(never.fetch('https://slow.test/')), 'dns')
  assert.equal(await codeOf(outbound.fetch(`https://127.0.0.1:${silent.port}/`)), 'timeout')
  assert.equal(await codeOf(outbound.fetch(`https://127.0.0.1:${dripping.port}/`)), 'timeout')
})

test('a caller can abort earlier and gets its own reason back', async (t) => {
  const silent = await startInternal(t, () => {})
  const outbound = start(t, { allow: ['127.0.0.1'] })
  const reason = new Error('not needed any more')

  const call = outbound.fetch(`https://127.0.0.1:${silent.port}/`, { signal: AbortSignal.abort(reason) })

  await assert.rejects(call, reason)
})

test('methods, headers and bodies arrive unchanged', async (t) => {
  const internal = await startInternal(t, async (request, response) => {
    const body = (await request.toArray()).join('')
    response.writeHead(201, { 'x-seen': `${request.method} ${request.headers['x-own']} ${body}` }).end()
  })
  const outbound = start(t, { allow: ['127.0.0.1'] })

  const response = await outbound.fetch(`https://127.0.0.1:${internal.port}/`, {
    method: 'POST',
    headers: { 'x-own': 'yes' },
    body: new URLSearchParams({ a: '1' }),
  })

  assert.equal(response.status, 201)
  assert.equal(response.headers.get('x-seen'), 'POST yes a=1')
})

test('a response without a body is valid', async (t) => {
  const internal = await startInternal(t, (_request, response) => response.writeHead(204).end())
  const outbound = start(t, { allow: ['127.0.0.1'] })

  assert.equal((await outbound.fetch(`https://127.0.0.1:${internal.port}/`)).status, 204)
})

test('libraries with their own client use the same guard', async (t) => {
  const secure = await startInternal(t)
  const plain = await startInternal(t, hello, false)
  const closed = start(t, { ports: [secure.port, plain.port] })
  const open = start(t, { allow: ['127.0.0.1'] })
  const viaHttps = (outbound: Outbound) =>
    readResponse(httpsGet({ host: '127.0.0.1', port: secure.port, agent: outbound.agents.https }))
  const viaHttp = (outbound: Outbound) =>
    readResponse(httpRequest({ host: 'localhost', port: plain.port, agent: outbound.agents.http }).end())

  assert.equal(await codeOf(viaHttps(closed)), 'address')
  assert.equal(await codeOf(viaHttp(closed)), 'scheme')
  assert.equal(secure.hits + plain.hits, 0)
  assert.equal(await viaHttps(open), 'hello')
  assert.equal(await viaHttp(start(t, { allow: ['localhost'], lookup: async () => ['127.0.0.1'] })), 'hello')
})

async function readResponse(request: ReturnType<typeof httpRequest>): Promise<string> {
  const [response] = await once(request, 'response')
  return (await response.toArray()).join('')
}

test('a broken connection fails the call, not the process', async (t) => {
  const internal = await startInternal(t, (request) => void request.socket.destroy())
  const outbound = start(t, { allow: ['127.0.0.1'] })

  assert.equal(await codeOf(outbound.fetch(`https://127.0.0.1:${internal.port}/`)), 'unreachable')
  assert.equal(await codeOf(outbound.fetch('https://127.0.0.1:1/')), 'unreachable')
})
