import { once } from 'node:events'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import ssh2 from 'ssh2'
import { assertPrivateMembers, readMember } from '../../../../test/support/private-members.ts'
import { Secret } from '../../../base/values/secret.ts'
import { KEX, MACS, selectCiphers } from './algorithms.ts'
import { createHostIdentity, generateHostKeys } from './host-key.ts'
import { type HostKey, type IncomingClient, sendBanner, startSshServer } from './ssh2.ts'

const requireModule = createRequire(import.meta.url)
const assertMember = assertPrivateMembers('ssh2', 'src/sessions/ssh/transport/ssh2.ts')

test('the four deep imports of ssh2 export what the adapter imports', () => {
  const { IncomingClient } = requireModule('ssh2/lib/server.js')
  const { KexInit } = requireModule('ssh2/lib/protocol/kex.js')
  const { bindingAvailable } = requireModule('ssh2/lib/protocol/crypto.js')
  const { parseKey } = requireModule('ssh2/lib/protocol/keyParser.js')

  assertMember('IncomingClient of lib/server.js', IncomingClient?.length === 7)
  assertMember('KexInit of lib/protocol/kex.js', typeof KexInit === 'function')
  assertMember('bindingAvailable of lib/protocol/crypto.js', typeof bindingAvailable === 'boolean')
  assertMember('parseKey of lib/protocol/keyParser.js', parseKey?.('no key') instanceof Error)
})

test('a new ssh2 connection has the private members that the adapter uses', async (t) => {
  const { protocol } = await connectClient(t)

  assertMember('IncomingClient._protocol', protocol !== undefined)
  const { parse } = Object.getPrototypeOf(protocol)
  assertMember('Protocol.parse, a method of the prototype', typeof parse === 'function')
  const offer = readMember(protocol, '_offer')
  const { KexInit } = requireModule('ssh2/lib/protocol/kex.js')
  assertMember('Protocol._offer', offer instanceof KexInit)
  for (const name of [
    '_onWrite',
    'ping',
    'forwardedTcpip',
    'channelData',
    'channelEOF',
    'channelClose',
    'channelWindowAdjust',
    '_handlers.CHANNEL_OPEN_CONFIRMATION',
    '_handlers.CHANNEL_OPEN_FAILURE',
    '_handlers.CHANNEL_WINDOW_ADJUST',
    '_handlers.CHANNEL_DATA',
    '_handlers.CHANNEL_EOF',
    '_handlers.CHANNEL_CLOSE',
    '_handlers.CHANNEL_REQUEST',
  ])
    assertMember(`Protocol.${name}`, typeof readMember(protocol, name) === 'function')
})

test('an ssh2 key exchange shows its state where the adapter looks for it', async (t) => {
  let negotiated: unknown
  let ownKexInit: unknown
  const { protocol, client } = await connectClient(t, (incoming, key) => ({
    ...key,
    sign(data) {
      negotiated = readMember(incoming(), '_protocol._kex.negotiated.serverHostKey')
      ownKexInit = readMember(incoming(), '_protocol._kexinit')
      return key.sign(data)
    },
  }))

  await once(client, 'handshake')

  assertMember('Protocol._kex.negotiated.serverHostKey', negotiated === 'ssh-ed25519')
  assertMember('Protocol._kexinit during a key exchange', ownKexInit !== undefined)
  assertMember('Protocol._kexinit after a key exchange', readMember(protocol, '_kexinit') === undefined)
})

test('an established ssh2 connection encrypts a packet that the adapter has filled', async (t) => {
  const { client, protocol, peer } = await connectClient(t)
  const banner = once(peer, 'banner')
  await once(client, 'authentication')

  for (const name of ['_packetRW.write.alloc', '_packetRW.write.finalize', '_cipher.encrypt'])
    assertMember(`Protocol.${name}`, typeof readMember(protocol, name) === 'function')
  const start = readMember(protocol, '_packetRW.write.allocStart')
  assertMember('Protocol._packetRW.write.allocStart', Number.isInteger(start))
  sendBanner(client, 'Hello')
  const [text] = await banner
  assertMember('Protocol._cipher.encrypt, which sends the packet', text.startsWith('Hello'))
})

/** Connects the package's own client to a server of the adapter, whose host key `wrap` may replace. */
async function connectClient(
  t: TestContext,
  wrap: (client: () => IncomingClient, key: HostKey) => HostKey = (_client, key) => key,
) {
  const identity = createHostIdentity(new Secret(generateHostKeys()))
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const peer = new ssh2.Client().on('error', () => {})
  t.after(() => peer.destroy())
  const { port } = server.address() as AddressInfo
  peer.connect({ host: '127.0.0.1', port, username: 'x', password: 'x' })
  const [socket] = await accepted
  t.after(() => socket.destroy())
  const offer = { kex: KEX, hostKeys: ['ssh-ed25519'], ciphers: selectCiphers, macs: MACS }
  const hostKeys = (client: () => IncomingClient) => ({
    'ssh-ed25519': wrap(client, identity.keysFor(client)['ssh-ed25519']!),
  })
  const client = startSshServer(socket, offer, hostKeys, () => {})
  client.on('error', () => {})
  // Without a listener the package rejects every attempt by itself.
  client.on('authentication', () => {})
  return { client, peer, protocol: readMember(client, '_protocol') }
}
