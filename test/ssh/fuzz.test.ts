import assert from 'node:assert/strict'
import { test } from 'node:test'
import ssh2 from 'ssh2'
import { eventually, eventuallyEqual } from '../support/eventually.ts'
import { startPlatform } from '../support/platform.ts'
import { createRandom, mutate, rounds, type SeededRandom } from '../support/random.ts'
import { connectSsh2Client } from './openssh.ts'

/** The internals of an ssh2 client needed to send a raw packet. */
interface Ssh2Internals {
  _protocol: { _cipher: { allocPacket(size: number): Buffer; encrypt(packet: Buffer): void } }
  _sock: { readonly writable: boolean; readonly readableEnded: boolean }
}

const CONNECTIONS = 40
const PACKETS = 50

function encodeString(value: string): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(Buffer.byteLength(value))
  return Buffer.concat([length, Buffer.from(value)])
}

function encodeUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const TRUE = Buffer.of(1)

/** A valid message of each kind a client may send (RFC 4250 section 4.1), as seeds for mutation. */
const SEEDS = [
  Buffer.concat([Buffer.of(1), encodeUint32(11), encodeString('bye'), encodeString('')]),
  Buffer.concat([Buffer.of(2), encodeString('ignored')]),
  Buffer.concat([Buffer.of(3), encodeUint32(7)]),
  Buffer.concat([Buffer.of(4), TRUE, encodeString('debug'), encodeString('')]),
  Buffer.concat([Buffer.of(5), encodeString('ssh-userauth')]),
  Buffer.concat([
    Buffer.of(7),
    encodeUint32(1),
    encodeString('server-sig-algs'),
    encodeString('ssh-ed25519'),
  ]),
  Buffer.concat([Buffer.of(20), Buffer.alloc(16), ...Array.from({ length: 10 }, () => encodeString('none'))]),
  Buffer.of(21),
  Buffer.concat([Buffer.of(30), encodeString('x'.repeat(32))]),
  Buffer.concat([Buffer.of(50), encodeString('root'), encodeString('ssh-connection'), encodeString('none')]),
  Buffer.concat([
    ...[
      Buffer.of(50),
      encodeString('root'),
      encodeString('ssh-connection'),
      encodeString('publickey'),
      TRUE,
      encodeString('ssh-ed25519'),
    ],
    ...[
      Buffer.concat([encodeUint32(51), encodeString('ssh-ed25519'), encodeString('k'.repeat(32))]),
      encodeString('s'.repeat(83)),
    ],
  ]),
  Buffer.concat([Buffer.of(61), encodeUint32(1), encodeString('answer')]),
  Buffer.concat([Buffer.of(80), encodeString('tcpip-forward'), TRUE, encodeString('fuzz'), encodeUint32(80)]),
  Buffer.concat([
    Buffer.of(80),
    encodeString('cancel-tcpip-forward'),
    TRUE,
    encodeString('fuzz'),
    encodeUint32(80),
  ]),
  Buffer.concat([Buffer.of(80), encodeString('streamlocal-forward@openssh.com'), TRUE, encodeString('/x')]),
  Buffer.concat([Buffer.of(81), encodeUint32(1)]),
  Buffer.of(82),
  Buffer.concat([
    Buffer.of(90),
    encodeString('session'),
    encodeUint32(0),
    encodeUint32(65536),
    encodeUint32(32768),
  ]),
  Buffer.concat([
    ...[
      Buffer.of(90),
      encodeString('direct-tcpip'),
      encodeUint32(1),
      encodeUint32(65536),
      encodeUint32(32768),
    ],
    ...[encodeString('127.0.0.1'), encodeUint32(22), encodeString('127.0.0.1'), encodeUint32(1)],
  ]),
  Buffer.concat([
    Buffer.of(91),
    encodeUint32(2 ** 30),
    encodeUint32(0),
    encodeUint32(65536),
    encodeUint32(32768),
  ]),
  Buffer.concat([
    Buffer.of(92),
    encodeUint32(2 ** 30),
    encodeUint32(1),
    encodeString('no'),
    encodeString(''),
  ]),
  Buffer.concat([Buffer.of(93), encodeUint32(2 ** 30), encodeUint32(0xffffffff)]),
  Buffer.concat([Buffer.of(94), encodeUint32(2 ** 30), encodeString('data'.repeat(100))]),
  Buffer.concat([Buffer.of(94), encodeUint32(0), encodeString('data')]),
  Buffer.concat([Buffer.of(95), encodeUint32(0), encodeUint32(1), encodeString('data')]),
  Buffer.concat([Buffer.of(96), encodeUint32(2 ** 30)]),
  Buffer.concat([Buffer.of(97), encodeUint32(2 ** 30)]),
  Buffer.concat([Buffer.of(97), encodeUint32(0)]),
  Buffer.concat([
    Buffer.of(98),
    encodeUint32(0),
    encodeString('exec'),
    TRUE,
    encodeString('http --output json'),
  ]),
  Buffer.concat([
    Buffer.of(98),
    encodeUint32(0),
    encodeString('pty-req'),
    TRUE,
    encodeString('xterm'),
    Buffer.alloc(16),
    encodeString('\0'),
  ]),
  Buffer.concat([Buffer.of(98), encodeUint32(0), encodeString('shell'), TRUE]),
  Buffer.concat([
    Buffer.of(98),
    encodeUint32(0),
    encodeString('env'),
    TRUE,
    encodeString('A'),
    encodeString('1'),
  ]),
  Buffer.concat([
    Buffer.of(98),
    encodeUint32(0),
    encodeString('x11-req'),
    TRUE,
    Buffer.of(0),
    encodeString('a'),
    encodeString('b'),
    encodeUint32(0),
  ]),
  Buffer.concat([Buffer.of(98), encodeUint32(0), encodeString('signal'), Buffer.of(0), encodeString('KILL')]),
  Buffer.concat([Buffer.of(99), encodeUint32(0)]),
  Buffer.concat([Buffer.of(100), encodeUint32(0)]),
]

/** Sends valid and mutated messages until `PACKETS` are sent or the server closes the connection. */
async function sendMessages(random: SeededRandom, client: Ssh2Internals): Promise<void> {
  for (
    let packets = 0;
    packets < PACKETS && client._sock.writable && !client._sock.readableEnded;
    packets++
  ) {
    const message = packets % 3 === 0 ? random.pick(SEEDS) : mutate(random, random.pick(SEEDS))
    const packet = client._protocol._cipher.allocPacket(message.length)
    packet.set(message, 5)
    client._protocol._cipher.encrypt(packet)
    // The server runs in this process: yield to it.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('malformed messages before login neither authenticate nor affect other clients', async (t) => {
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
    const handshake = new Promise((resolve) => client.once('handshake', resolve))
    // From a new address each time, because failures are throttled per address.
    const localAddress = `127.${1 + (round >> 16)}.${(round >> 8) & 255}.${round & 255}`
    client.connect({ host, port: Number(port), localAddress, username: 'x', authHandler: () => {} })
    await handshake
    client.setNoDelay(true)
    await sendMessages(random, client as unknown as Ssh2Internals)
    client.destroy()
  }
  const bystander = await connectSsh2Client(t, platform)

  assert.ok(bystander)
  assert.equal(ready, 0)
  await eventually(() => closed > 0, 'some connections were ended for what they sent')
})

test('malformed messages of every kind end at most their own connection', async (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const platform = await startPlatform(t)
  const bystander = await connectSsh2Client(t, platform)
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
    const ssh2Client = await connectSsh2Client(t, platform)
    ssh2Client.setNoDelay(true).once('close', () => closed++)
    clients.push(ssh2Client)
    const client = ssh2Client as unknown as Ssh2Internals
    await sendMessages(random, client)
  }
  const url = (await platform.call('GET', '/tunnels')).body.tunnels.find(
    ({ public_url }: { public_url: string }) => public_url?.includes('bystander'),
  )?.public_url
  const response = await platform.fetch(url)

  assert.equal(await response.text(), 'alive')
  await eventually(() => closed > 0, 'some connections were ended for what they sent')
  for (const client of clients) client.destroy()
  const countSessions = async () =>
    (await platform.call('GET', '/tunnel_sessions')).body.tunnel_sessions.length
  await eventuallyEqual(countSessions, 1)
})
