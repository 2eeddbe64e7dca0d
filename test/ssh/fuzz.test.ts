import assert from 'node:assert/strict'
import { test } from 'node:test'
import ssh2 from 'ssh2'
import { eventually } from '../support/eventually.ts'
import { startPlatform } from '../support/platform.ts'
import { createRandom, mutate, type Random, rounds } from '../support/random.ts'
import { connectLibrary } from './openssh.ts'

/** What a client of the library needs in order to send a packet of the test's own making. */
interface Raw {
  _protocol: { _cipher: { allocPacket(size: number): Buffer; encrypt(packet: Buffer): void } }
  _sock: { readonly writable: boolean; readonly readableEnded: boolean }
}

const CONNECTIONS = 40
const PACKETS = 50

function text(value: string): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(Buffer.byteLength(value))
  return Buffer.concat([length, Buffer.from(value)])
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const YES = Buffer.of(1)

/** One true message of each kind a client may send (RFC 4250 section 4.1), to be damaged. */
const SEEDS = [
  Buffer.concat([Buffer.of(1), number(11), text('bye'), text('')]),
  Buffer.concat([Buffer.of(2), text('ignored')]),
  Buffer.concat([Buffer.of(3), number(7)]),
  Buffer.concat([Buffer.of(4), YES, text('debug'), text('')]),
  Buffer.concat([Buffer.of(5), text('ssh-userauth')]),
  Buffer.concat([Buffer.of(7), number(1), text('server-sig-algs'), text('ssh-ed25519')]),
  Buffer.concat([Buffer.of(20), Buffer.alloc(16), ...Array.from({ length: 10 }, () => text('none'))]),
  Buffer.of(21),
  Buffer.concat([Buffer.of(30), text('x'.repeat(32))]),
  Buffer.concat([Buffer.of(50), text('root'), text('ssh-connection'), text('none')]),
  Buffer.concat([
    ...[Buffer.of(50), text('root'), text('ssh-connection'), text('publickey'), YES, text('ssh-ed25519')],
    ...[Buffer.concat([number(51), text('ssh-ed25519'), text('k'.repeat(32))]), text('s'.repeat(83))],
  ]),
  Buffer.concat([Buffer.of(61), number(1), text('answer')]),
  Buffer.concat([Buffer.of(80), text('tcpip-forward'), YES, text('fuzz'), number(80)]),
  Buffer.concat([Buffer.of(80), text('cancel-tcpip-forward'), YES, text('fuzz'), number(80)]),
  Buffer.concat([Buffer.of(80), text('streamlocal-forward@openssh.com'), YES, text('/x')]),
  Buffer.concat([Buffer.of(81), number(1)]),
  Buffer.of(82),
  Buffer.concat([Buffer.of(90), text('session'), number(0), number(65536), number(32768)]),
  Buffer.concat([
    ...[Buffer.of(90), text('direct-tcpip'), number(1), number(65536), number(32768)],
    ...[text('127.0.0.1'), number(22), text('127.0.0.1'), number(1)],
  ]),
  Buffer.concat([Buffer.of(91), number(2 ** 30), number(0), number(65536), number(32768)]),
  Buffer.concat([Buffer.of(92), number(2 ** 30), number(1), text('no'), text('')]),
  Buffer.concat([Buffer.of(93), number(2 ** 30), number(0xffffffff)]),
  Buffer.concat([Buffer.of(94), number(2 ** 30), text('data'.repeat(100))]),
  Buffer.concat([Buffer.of(94), number(0), text('data')]),
  Buffer.concat([Buffer.of(95), number(0), number(1), text('data')]),
  Buffer.concat([Buffer.of(96), number(2 ** 30)]),
  Buffer.concat([Buffer.of(97), number(2 ** 30)]),
  Buffer.concat([Buffer.of(97), number(0)]),
  Buffer.concat([Buffer.of(98), number(0), text('exec'), YES, text('http --output json')]),
  Buffer.concat([
    Buffer.of(98),
    number(0),
    text('pty-req'),
    YES,
    text('xterm'),
    Buffer.alloc(16),
    text('\0'),
  ]),
  Buffer.concat([Buffer.of(98), number(0), text('shell'), YES]),
  Buffer.concat([Buffer.of(98), number(0), text('env'), YES, text('A'), text('1')]),
  Buffer.concat([
    Buffer.of(98),
    number(0),
    text('x11-req'),
    YES,
    Buffer.of(0),
    text('a'),
    text('b'),
    number(0),
  ]),
  Buffer.concat([Buffer.of(98), number(0), text('signal'), Buffer.of(0), text('KILL')]),
  Buffer.concat([Buffer.of(99), number(0)]),
  Buffer.concat([Buffer.of(100), number(0)]),
]

/** Sends true and damaged messages until there are enough or the server has had enough. */
async function pester(random: Random, client: Raw): Promise<void> {
  for (let sent = 0; sent < PACKETS && client._sock.writable && !client._sock.readableEnded; sent++) {
    const message = sent % 3 === 0 ? random.pick(SEEDS) : mutate(random, random.pick(SEEDS))
    const packet = client._protocol._cipher.allocPacket(message.length)
    packet.set(message, 5)
    client._protocol._cipher.encrypt(packet)
    // The server lives in this process: give it its turn.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('damaged messages before the login let nobody in and end nobody else', async (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const platform = await startPlatform(t)
  const [host = '', port = ''] = platform.credentials.ssh_addr.split(':')
  let ready = 0
  let closed = 0

  for (const round of rounds(CONNECTIONS)) {
    const client = new ssh2.Client()
    t.after(() => client.destroy())
    client.on('error', () => {})
    client.on('ready', () => ready++)
    client.on('close', () => closed++)
    const shaken = new Promise((resolve) => client.once('handshake', resolve))
    // From another address each time, since failures are held against theirs.
    const localAddress = `127.0.1.${round + 1}`
    client.connect({ host, port: Number(port), localAddress, username: 'x', authHandler: () => {} })
    await shaken
    client.setNoDelay(true)
    await pester(random, client as unknown as Raw)
  }
  const bystander = await connectLibrary(t, platform)

  assert.ok(bystander)
  assert.equal(ready, 0)
  await eventually(() => closed > 0, 'some connections were ended for what they sent')
})

test('damaged messages of every kind end at most their own connection', async (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const platform = await startPlatform(t)
  const bystander = await connectLibrary(t, platform)
  bystander.on('tcp connection', (_info, accept) => {
    const channel = accept()
    channel.on('data', () =>
      channel.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nalive'),
    )
  })
  await new Promise<void>((resolve, reject) => {
    bystander.forwardIn('bystander', 80, (error) => (error ? reject(error) : resolve()))
  })

  let closed = 0
  const clients: { destroy(): void }[] = []
  for (const _ of rounds(CONNECTIONS)) {
    const connected = await connectLibrary(t, platform)
    connected.setNoDelay(true).once('close', () => closed++)
    clients.push(connected)
    const client = connected as unknown as Raw
    await pester(random, client)
  }
  const url = (await platform.call('GET', '/tunnels')).body.tunnels.find(
    ({ public_url }: { public_url: string }) => public_url?.includes('bystander'),
  )?.public_url
  const answer = await platform.fetch(url)

  assert.equal(await answer.text(), 'alive')
  await eventually(() => closed > 0, 'some connections were ended for what they sent')
  for (const client of clients) client.destroy()
  const sessions = async () => (await platform.call('GET', '/tunnel_sessions')).body.tunnel_sessions.length
  const until = performance.now() + 5000
  while ((await sessions()) > 1 && performance.now() < until);
  assert.equal(await sessions(), 1)
})
