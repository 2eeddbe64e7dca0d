import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createServer } from 'node:tls'
import { createTestCa, type TestCa } from '../../../test/support/test-ca.ts'
import { Secret } from '../../base/values/secret.ts'
import { dialServer, UntrustedServer } from './dial.ts'
import type { ServerLocation } from './location.ts'

const settings = {
  ...{ timeoutMs: 20_000, proxy: undefined, resolvers: [], interface: undefined, crl: undefined },
}

/** A server at 127.0.0.1 whose certificate is for these names, and how an agent that trusts the authority dials it. */
async function startServer(t: TestContext, ca: TestCa, names: readonly string[]) {
  const server = createServer(await ca.issue(...names)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  return async (location: Partial<ServerLocation>) => {
    const dialled = { host: '127.0.0.1', port, authtoken: new Secret('T'), cas: [ca.caPem], loopback: true }
    const socket = await dialServer({ ...dialled, ...location }, settings)
    t.after(() => socket.destroy())
    return { name: socket.servername || undefined, port }
  }
}

test('an announced address shows a certificate for the name that announced it, or for itself', async (t) => {
  const ca = await createTestCa()
  const named = await startServer(t, ca, ['*.tunnels.example.com'])
  const unnamed = await startServer(t, ca, ['127.0.0.1'])
  const foreign = await startServer(t, ca, ['connect.example.net', '192.0.2.1'])
  const announcedUnder = 'connect.tunnels.example.com'

  await named({ announcedUnder })
  await unnamed({ announcedUnder })
  await assert.rejects(foreign({ announcedUnder }), UntrustedServer)
  await assert.rejects(named({}), UntrustedServer)
})

test('an untrusted certificate names the address under which the server has a public one', async (t) => {
  const ca = await createTestCa()
  const dial = await startServer(t, ca, ['localhost', 'tunnels.example.com', 'connect.tunnels.example.com'])
  const local = await startServer(t, ca, ['adit.localhost', '*.adit.localhost'])
  const adviceOf = async (dialling: Promise<unknown>) =>
    String(await dialling.catch((error: unknown) => error))

  const byAddress = await adviceOf(dial({ cas: [] }))
  const byName = await adviceOf(dial({ cas: [], host: 'node.tunnels.example.com', addresses: ['127.0.0.1'] }))

  assert.match(byAddress, /adit config add-connect-url connect\.tunnels\.example\.com:\d+\n.*--root-cas/)
  assert.doesNotMatch(byName, /add-connect-url/)
  assert.match(byName, /--root-cas/)
  assert.doesNotMatch(await adviceOf(local({ cas: [] })), /add-connect-url/)
})
