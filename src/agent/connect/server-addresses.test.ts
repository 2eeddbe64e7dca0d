import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import dnsPacket from 'dns-packet'
import { Secret } from '../../base/values/secret.ts'
import type { DialSettings } from './dial.ts'
import type { ServerLocation } from './location.ts'
import { ServerAddresses } from './server-addresses.ts'

const dial: DialSettings = {
  ...{ timeoutMs: 1000, proxy: undefined, resolvers: [], interface: undefined, crl: undefined },
}
const locationOf = (host: string): ServerLocation => ({
  ...{ host, port: 4443, authtoken: new Secret('T'), cas: undefined, loopback: false },
})
const configured = [locationOf('192.0.2.1'), locationOf('192.0.2.2'), locationOf('192.0.2.3')]
const hosts = (round: readonly ServerLocation[]) => round.map(({ host }) => host)

test('a round contains every address once and starts at a random one', async () => {
  const addresses = new ServerAddresses(dial)
  const rounds = await Promise.all(Array.from({ length: 100 }, () => addresses.nextRound(configured)))

  for (const round of rounds) assert.deepEqual(hosts(round).sort(), hosts(configured))
  assert.equal(new Set(rounds.map((round) => round[0]?.host)).size, 3)
})

test('the last failed address is tried last, the last successful one first', async () => {
  for (const location of configured) {
    const addresses = new ServerAddresses(dial)

    addresses.recordOutcome(location, false)
    assert.equal((await addresses.nextRound(configured)).at(-1)?.host, location.host)

    addresses.recordOutcome(location, true)
    assert.equal((await addresses.nextRound(configured))[0]?.host, location.host)
  }
})

test('learned addresses are tried after configured ones, and none twice', async () => {
  const addresses = new ServerAddresses(dial)
  addresses.learn(configured[0]!, [
    '192.0.2.1:4443',
    'other.example.com:4443',
    '[2001:db8::1]:443',
    'x',
    ':1',
  ])

  const round = hosts(await addresses.nextRound([configured[0]!]))

  assert.equal(round[0], '192.0.2.1')
  assert.deepEqual(round.slice(1).sort(), ['2001:db8::1', 'other.example.com'])
})

test('a loopback address is learned only from a server on this machine', async () => {
  const addresses = new ServerAddresses(dial)
  addresses.learn(configured[0]!, ['127.0.0.1:1', 'localhost:2', '[::1]:3'])
  assert.deepEqual(hosts(await addresses.nextRound([configured[0]!])), ['192.0.2.1'])

  addresses.learn({ ...locationOf('127.0.0.1'), loopback: true }, ['127.0.0.1:1'])

  assert.deepEqual(hosts(await addresses.nextRound([configured[0]!])), ['192.0.2.1', '127.0.0.1'])
})

test('an announced IP address is verified under the name that announced it, a name under itself', () => {
  const addresses = new ServerAddresses(dial)
  const named = locationOf('connect.tunnels.example.com')

  addresses.learn(named, ['192.0.2.1:4443', 'node.example.net:4443'])
  assert.deepEqual(
    addresses.nodes.map(({ announcedUnder }) => announcedUnder),
    ['connect.tunnels.example.com', undefined],
  )

  addresses.learn(addresses.nodes[0]!, ['192.0.2.2:4443'])
  assert.equal(addresses.nodes[0]?.announcedUnder, 'connect.tunnels.example.com')
})

test('legs spread over the nodes, and every second attempt is at the home', () => {
  const addresses = new ServerAddresses(dial)
  const [home] = configured
  assert.equal(addresses.forLeg(home!, 1, 0), home)

  addresses.learn(home!, ['192.0.2.1:4443', '192.0.2.2:4443', '192.0.2.3:4443'])

  assert.deepEqual(
    [0, 1, 2, 3].map((number) => addresses.forLeg(home!, number, 0).host),
    ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.1'],
  )
  assert.deepEqual(
    [0, 1, 2, 3].map((failures) => addresses.forLeg(home!, 1, failures).host),
    ['192.0.2.2', '192.0.2.1', '192.0.2.3', '192.0.2.1'],
  )
})

/** Starts a name server that returns these addresses for every name; resolves with its `host:port`. */
async function startNameServer(t: TestContext, addresses: Record<'A' | 'AAAA', string[]>): Promise<string> {
  const socket = createSocket('udp4')
  socket.on('message', (message, { port, address }) => {
    const { id, questions = [] } = dnsPacket.decode(message)
    const { name, type } = questions[0] as { name: string; type: 'A' | 'AAAA' }
    const answers = addresses[type].map((data) => ({ name, type, data, ttl: 1 }))
    socket.send(dnsPacket.encode({ type: 'response', id: id!, questions, answers }), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return `127.0.0.1:${socket.address().port}`
}

test('every address of a name is tried, each followed by the others', async (t) => {
  const resolver = await startNameServer(t, { A: ['192.0.2.1', '192.0.2.2'], AAAA: ['2001:db8::1'] })
  const addresses = new ServerAddresses({ ...dial, resolvers: [resolver] })

  const round = await addresses.nextRound([locationOf('nodes.example.com')])

  assert.deepEqual(round.map((location) => location.addresses?.[0]).sort(), [
    '192.0.2.1',
    '192.0.2.2',
    '2001:db8::1',
  ])
  for (const location of round) assert.equal(location.addresses?.length, 3)
})

test('a name that cannot be resolved is tried as it is, and its attempt says why', async (t) => {
  const resolver = await startNameServer(t, { A: [], AAAA: [] })
  const addresses = new ServerAddresses({ ...dial, resolvers: [resolver] })

  assert.deepEqual(hosts(await addresses.nextRound([locationOf('nodes.example.com')])), ['nodes.example.com'])
})
