import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { type Answer, type DecodedPacket, decode, encode, type Packet, type RecordType } from 'dns-packet'
import { TIMEOUT_MS } from '../../test/support/eventually.ts'
import { createRandom, mutate, rounds } from '../../test/support/random.ts'
import { silentLog } from '../base/process/log.ts'
import { respondTo } from './message.ts'
import { createDns, type Dns, type DnsOptions } from './server.ts'
import { compileZones } from './zone.ts'

const run = promisify(execFile)
const long = 'x'.repeat(600)
const table = compileZones([
  {
    origin: 'example.test',
    soa: {
      mname: 'ns1.example.test',
      rname: 'hostmaster.example.test',
      serial: 2026010101,
      refresh: 7200,
      retry: 3600,
      expire: 1209600,
      minimum: 60,
    },
    ns: ['ns1.example.test'],
    ttl: 300,
    records: [
      { name: 'ns1.example.test', type: 'A', data: '192.0.2.53' },
      { name: 'www.example.test', type: 'A', data: '192.0.2.1' },
      { name: 'www.example.test', type: 'A', data: '192.0.2.2' },
      { name: 'www.example.test', type: 'AAAA', data: '2001:db8::1' },
      { name: 'alias.example.test', type: 'CNAME', data: 'www.example.test' },
      { name: '_acme-challenge.example.test', type: 'TXT', data: 'token-token' },
      { name: 'long.example.test', type: 'TXT', data: long },
      { name: 'example.test', type: 'CAA', data: { tag: 'issue', value: 'ca.example' } },
      { name: '*.tunnels.example.test', type: 'A', data: '192.0.2.7' },
      ...Array.from({ length: 100 }, (_, n) => ({
        name: 'many.example.test',
        type: 'AAAA' as const,
        data: `2001:db8::${n + 1}`,
      })),
    ],
  },
])

async function startDns(t: TestContext, options: Partial<DnsOptions> = {}): Promise<Dns> {
  const dns = createDns({
    table: () => table,
    addr: { host: '127.0.0.1', port: 0 },
    log: silentLog,
    rateLimit: false,
    ...options,
  })
  await dns.start()
  t.after(() => dns.stop())
  return dns
}

const query = (name: string, type: RecordType | 'ANY' = 'A', more: Packet = {}) =>
  encode({ type: 'query', id: 7, questions: [{ name, type: type as RecordType }], ...more })
const opt = (udpPayloadSize: number, ednsVersion = 0, flags = 0, paddingBytes?: number): Answer => ({
  name: '.',
  type: 'OPT',
  udpPayloadSize,
  extendedRcode: 0,
  ednsVersion,
  flags,
  flag_do: false,
  options: paddingBytes === undefined ? [] : [{ code: 12, type: 'PADDING', length: paddingBytes }],
})

async function queryUdp(
  t: TestContext,
  dns: Dns,
  message: Buffer,
): Promise<DecodedPacket & { size: number }> {
  const socket = createSocket('udp4')
  t.after(() => socket.close())
  socket.send(message, dns.address.port, dns.address.host)
  const [bytes] = await once(socket, 'message', { signal: AbortSignal.timeout(TIMEOUT_MS) })
  return { ...decode(bytes), size: bytes.length }
}

function frame(message: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  return Buffer.concat([length, message])
}

async function connectTcp(t: TestContext, dns: Dns): Promise<Socket> {
  const socket = connect(dns.address.port, dns.address.host)
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

async function readTcp(socket: Socket, count: number): Promise<DecodedPacket[]> {
  let bytes = Buffer.alloc(0)
  const packets: DecodedPacket[] = []
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    bytes = Buffer.concat([bytes, chunk])
    while (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
      packets.push(decode(bytes.subarray(2, 2 + bytes.readUInt16BE(0))))
      bytes = bytes.subarray(2 + bytes.readUInt16BE(0))
    }
    if (packets.length >= count) break
  }
  return packets
}

const rcode = (packet: Packet) => (packet.flags ?? 0) & 15
const data = (packet: Packet) => (packet.answers ?? []).map((record) => 'data' in record && record.data)

test('a name resolves over UDP with authority and without recursion', async (t) => {
  const dns = await startDns(t)

  const packet = await queryUdp(t, dns, query('www.example.test', 'A', { flags: 0x0100 }))

  assert.deepEqual(data(packet), ['192.0.2.1', '192.0.2.2'])
  assert.deepEqual(
    [packet.id, packet.flag_aa, packet.flag_rd, packet.flag_ra, packet.flag_tc],
    [7, true, true, false, false],
  )
})

test('question and answer keep the case of the query', async (t) => {
  const dns = await startDns(t)

  const packet = await queryUdp(t, dns, query('wWw.eXample.TEST'))

  assert.equal(packet.questions?.[0]?.name, 'wWw.eXample.TEST')
  assert.equal(packet.answers?.[0]?.name, 'wWw.eXample.TEST')
})

test('a response too large for UDP is truncated, and TCP returns all of it', async (t) => {
  const dns = await startDns(t)
  const socket = await connectTcp(t, dns)

  const plain = await queryUdp(t, dns, query('many.example.test', 'AAAA'))
  socket.write(frame(query('many.example.test', 'AAAA')))
  const [full] = await readTcp(socket, 1)

  assert.deepEqual([plain.flag_tc, plain.answers?.length, plain.questions?.length], [true, 0, 1])
  assert.deepEqual([full?.flag_tc, full?.answers?.length], [false, 100])
})

test('the EDNS payload size of the client is used, up to 1232 bytes', async (t) => {
  const dns = await startDns(t)
  const ask = (size: number) =>
    queryUdp(t, dns, query('long.example.test', 'TXT', { additionals: [opt(size)] }))

  const [tiny, enough, boastful] = [await ask(100), await ask(1232), await ask(65535)]
  const huge = await queryUdp(
    t,
    dns,
    query('many.example.test', 'AAAA', { additionals: [opt(65535, 0, 0, 512)] }),
  )

  assert.deepEqual([tiny.flag_tc, enough.flag_tc, boastful.flag_tc, huge.flag_tc], [true, false, false, true])
  assert.ok(tiny.size <= 512 && boastful.size <= 1232)
  assert.equal((data(enough)[0] as Buffer[]).join(''), long)
})

test('no response over UDP is larger than three times its query, but for what authorities validate', async (t) => {
  const dns = await startDns(t)
  const types = ['NS', 'SOA', 'CAA', 'CNAME', 'ANY'] as const
  const names = [
    'example.test',
    'www.example.test',
    'alias.example.test',
    'many.example.test',
    'no.example.test',
  ]

  for (const name of names)
    for (const type of types)
      for (const more of [{}, { additionals: [opt(4096)] }]) {
        const message = query(name, type, more)
        const { size } = await queryUdp(t, dns, message)
        assert.ok(size <= 3 * message.length, `${name} ${type}: ${size} bytes for ${message.length}`)
      }
})

test('names that a response repeats are compressed', async (t) => {
  const dns = await startDns(t)
  const message = query('example.test', 'NS')

  const response = await queryUdp(t, dns, message)

  assert.deepEqual(data(response), ['ns1.example.test'])
  assert.deepEqual(
    response.additionals?.map(({ name }) => name),
    ['ns1.example.test'],
  )
  // A pointer for the owner, and the label "ns1" with a pointer to the zone; then the address of that name.
  assert.equal(response.size, message.length + (2 + 10 + 6) + (2 + 10 + 4))
})

test('EDNS is used only with clients that use it, in version 0 only', async (t) => {
  const dns = await startDns(t)

  const without = await queryUdp(t, dns, query('www.example.test'))
  const with0 = await queryUdp(
    t,
    dns,
    query('www.example.test', 'A', { additionals: [opt(4096, 0, 0x8000)] }),
  )
  const with1 = await queryUdp(t, dns, query('www.example.test', 'A', { additionals: [opt(4096, 1)] }))
  const twice = await queryUdp(t, dns, query('www.example.test', 'A', { additionals: [opt(512), opt(512)] }))

  assert.deepEqual(without.additionals, [])
  const echoed = with0.additionals?.[0]
  assert.ok(echoed?.type === 'OPT' && echoed.udpPayloadSize === 1232 && echoed.flag_do)
  const refused = with1.additionals?.[0]
  assert.ok(refused?.type === 'OPT' && refused.extendedRcode === 1 && with1.answers?.length === 0)
  assert.equal(rcode(twice), 1)
})

test('foreign names are REFUSED, and transfers and updates are not supported', async (t) => {
  const dns = await startDns(t)
  const chaos = query('www.example.test')
  chaos.writeUInt16BE(3, chaos.length - 2)

  const rcodes = {
    foreign: rcode(await queryUdp(t, dns, query('www.google.com'))),
    root: rcode(await queryUdp(t, dns, query('.', 'NS'))),
    transfer: rcode(await queryUdp(t, dns, query('example.test', 'AXFR'))),
    chaos: rcode(await queryUdp(t, dns, chaos)),
    status: rcode(await queryUdp(t, dns, query('example.test', 'A', { flags: 2 << 11 }))),
    update: rcode(await queryUdp(t, dns, query('example.test', 'SOA', { flags: 5 << 11 }))),
    none: rcode(await queryUdp(t, dns, encode({ type: 'query', id: 7, questions: [] }))),
    two: rcode(
      await queryUdp(
        t,
        dns,
        encode({
          questions: [
            { name: 'example.test', type: 'A' },
            { name: 'example.test', type: 'NS' },
          ],
        }),
      ),
    ),
  }

  assert.deepEqual(rcodes, {
    foreign: 5,
    root: 5,
    transfer: 5,
    chaos: 5,
    status: 4,
    update: 4,
    none: 1,
    two: 1,
  })
})

test('many queries on one connection get responses in order, however they are segmented', async (t) => {
  const dns = await startDns(t)
  const socket = await connectTcp(t, dns)
  const ids = Array.from({ length: 300 }, (_, n) => n + 1)
  const bytes = Buffer.concat(ids.map((id) => frame(query('many.example.test', 'AAAA', { id }))))

  const reading = readTcp(socket, ids.length)
  for (let offset = 0; offset < bytes.length; offset += 17) socket.write(bytes.subarray(offset, offset + 17))

  assert.deepEqual(
    (await reading).map((packet) => packet.id),
    ids,
  )
})

test('a connection that is idle, drips or sends garbage is closed', async (t) => {
  const dns = await startDns(t, { tcp: { idleMs: 150 } })
  const [silent, dripping, rubbish, oversized] = [
    await connectTcp(t, dns),
    await connectTcp(t, dns),
    await connectTcp(t, dns),
    await connectTcp(t, dns),
  ]
  const timer = setInterval(() => dripping.write('\0'), 20)
  t.after(() => clearInterval(timer))
  for (const socket of [silent, dripping, rubbish, oversized]) socket.on('error', () => {}).resume()

  rubbish.write(frame(Buffer.alloc(20, 0xff)))
  oversized.write(Buffer.of(0xff, 0xff, 1, 2, 3))

  const deadline = { signal: AbortSignal.timeout(TIMEOUT_MS) }
  await Promise.all([silent, dripping, rubbish, oversized].map((socket) => once(socket, 'close', deadline)))
})

test('one network cannot use all connections', async (t) => {
  const dns = await startDns(t, { tcp: { connectionsPerSource: 2 } })
  const [first] = [await connectTcp(t, dns), await connectTcp(t, dns)]

  const third = await connectTcp(t, dns)
  third.on('error', () => {}).resume()
  await once(third, 'close', { signal: AbortSignal.timeout(TIMEOUT_MS) })

  first.write(frame(query('www.example.test')))
  assert.equal((await readTcp(first, 1)).length, 1)
})

test('a network over its rate limit gets truncated responses and can still use TCP', async (t) => {
  const dns = await startDns(t, { rateLimit: { perSecond: 0, burst: 3, slip: 1 } })
  const ask = () => queryUdp(t, dns, query('www.example.test'))

  const flags = [await ask(), await ask(), await ask(), await ask(), await ask()].map(
    (packet) => packet.flag_tc,
  )
  const other = await queryUdp(t, dns, query('ns1.example.test'))
  const socket = await connectTcp(t, dns)
  socket.write(frame(query('www.example.test')))
  const [full] = await readTcp(socket, 1)

  assert.deepEqual(flags, [false, false, false, true, true])
  assert.equal(other.flag_tc, false)
  assert.equal(full?.answers?.length, 2)
  assert.equal(dns.counts.limited, 2)
})

test('a changed table is served at once, and a failing table does not stop the server', async (t) => {
  let current = table
  let broken = false
  const dns = await startDns(t, {
    table: () => {
      if (broken) throw new Error('no table')
      return current
    },
  })
  const ask = () => queryUdp(t, dns, query('www.example.test'))
  const before = await ask()

  current = new Map()
  const after = await ask()
  broken = true
  const socket = await connectTcp(t, dns)
  socket.on('error', () => {}).resume()
  socket.write(frame(query('www.example.test')))
  await once(socket, 'close')
  broken = false

  assert.deepEqual([rcode(before), rcode(after), rcode(await ask())], [0, 5, 5])
  assert.equal(dns.counts.failed, 1)
})

test('the server stops with connections open, and can be started on IPv6', async (t) => {
  const dns = createDns({ table: () => table, addr: { host: '::1', port: 0 }, log: silentLog })
  await dns.start()
  const socket = connect(dns.address.port, '::1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(frame(query('www.example.test')))
  const [answer] = await readTcp(socket, 1)

  await dns.stop()

  assert.equal(answer?.answers?.length, 2)
  assert.throws(() => dns.address)
})

test('start fails when the port is in use', async (t) => {
  const dns = await startDns(t)
  const second = createDns({ table: () => table, addr: dns.address, log: silentLog })

  await assert.rejects(second.start(), { code: 'EADDRINUSE' })
})

const seeds = [
  query('www.example.test'),
  query('many.example.test', 'AAAA', { additionals: [opt(4096)] }),
  query('x.tunnels.example.test', 'ANY', { additionals: [opt(1232, 0, 0x8000)] }),
  query('alias.example.test', 'TXT'),
  encode({ type: 'response', id: 9, questions: [{ name: 'www.example.test', type: 'A' }] }),
]

test('20,000 malformed messages get a valid response or none', (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  let answered = 0

  for (const round of rounds(20_000)) {
    const message = mutate(random, random.pick(seeds))
    const transport = random.pick(['udp', 'tcp'] as const)
    const response = respondTo(table, message, transport)

    if (response === undefined) continue
    answered++
    const packet = decode(response.bytes)
    const where = `SEED=${random.seed} round ${round}`
    assert.equal(packet.flag_qr, true, where)
    assert.equal(packet.id, message.readUInt16BE(0), where)
    assert.ok((message[2]! & 0x80) === 0, `${where}: a response was answered`)
    assert.ok(transport === 'tcp' || response.bytes.length <= 1232, where)
    assert.ok(response.truncated().length <= message.length + 12, `${where}: a truncated response amplifies`)
  }

  assert.ok(answered > 2000, `only ${answered} were answered`)
})

test('the server survives malformed messages on its sockets', async (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const dns = await startDns(t)
  const socket = createSocket('udp4')
  t.after(() => socket.close())
  socket.on('message', () => {})
  const send = (message: Buffer) =>
    new Promise((done) => socket.send(message, dns.address.port, dns.address.host, done))

  for (let round = 0; round < 2000; round++) await send(mutate(random, random.pick(seeds)))
  for (let round = 0; round < 100; round++) {
    const connection = await connectTcp(t, dns)
    connection.on('error', () => {}).resume()
    connection.end(mutate(random, frame(random.pick(seeds))))
    await once(connection, 'close')
  }

  assert.deepEqual(data(await queryUdp(t, dns, query('ns1.example.test'))), ['192.0.2.53'])
  assert.equal(dns.counts.failed, 0)
})

const DIG = ['/usr/bin/dig', '/usr/local/bin/dig'].find(existsSync)
const reason = DIG === undefined && 'there is no dig here (Debian package bind9-dnsutils)'
const kinds: [string, string[]][] = [
  ['example.test SOA', ['ns1.example.test. hostmaster.example.test. 2026010101 7200 3600 1209600 60']],
  ['example.test NS', ['ns1.example.test.']],
  ['www.example.test A', ['192.0.2.1', '192.0.2.2']],
  ['www.example.test AAAA', ['2001:db8::1']],
  ['alias.example.test CNAME', ['www.example.test.']],
  ['alias.example.test AAAA', ['www.example.test.', '2001:db8::1']],
  ['_acme-challenge.example.test TXT', ['"token-token"']],
  ['long.example.test TXT', [`"${'x'.repeat(255)}" "${'x'.repeat(255)}" "${'x'.repeat(90)}"`]],
  ['example.test CAA', ['0 issue "ca.example"']],
  ['anything.tunnels.example.test A', ['192.0.2.7']],
  ['a.b.tunnels.example.test A', ['192.0.2.7']],
  ['www.example.test ANY', ['"RFC8482" ""']],
]

for (const transport of ['+notcp', '+tcp']) {
  test(`dig reads every kind of record with ${transport}`, { skip: reason }, async (t) => {
    const dns = await startDns(t)
    const dig = async (...args: string[]) =>
      (
        await run(DIG!, [
          `@${dns.address.host}`,
          '-p',
          String(dns.address.port),
          '+tries=1',
          transport,
          ...args,
        ])
      ).stdout

    for (const [question, expected] of kinds) {
      const lines = (await dig('+short', ...question.split(' '))).trim().split('\n')
      assert.deepEqual(lines, expected, question)
    }
    const missing = await dig('missing.example.test')
    const empty = await dig('tunnels.example.test')
    const foreign = await dig('example.org')
    const many = await dig('+bufsize=512', '+short', 'many.example.test', 'AAAA')

    assert.match(missing, /status: NXDOMAIN.*flags: qr aa rd; QUERY: 1, ANSWER: 0, AUTHORITY: 1,/s)
    assert.match(missing, /^example\.test\.\t+60\tIN\tSOA/m)
    assert.match(empty, /status: NOERROR.*flags: qr aa rd; QUERY: 1, ANSWER: 0, AUTHORITY: 1,/s)
    assert.match(foreign, /status: REFUSED/)
    assert.doesNotMatch(missing + empty + foreign, /malformed|;; Warning: (?!recursion)/i)
    // dig retries over TCP when the response is truncated.
    assert.equal(
      many
        .trim()
        .split('\n')
        .filter((line) => line.startsWith('2001:')).length,
      100,
    )
  })
}
