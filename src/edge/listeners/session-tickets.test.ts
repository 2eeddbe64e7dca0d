import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { startTcp } from '../../../test/support/local-server.ts'
import { RawClient, resumableSession } from '../../../test/support/raw-client.ts'
import { Secret } from '../../base/values/secret.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { createClientAuthority } from '../testing/client-certificates.ts'
import { startEdge } from '../testing/edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'open.adit.localhost'
const LOCKED = 'locked.adit.localhost'

const createSecret = () => new Secret(randomBytes(32))

/** Edges of one platform, as its workers and nodes are, with what they seal tickets with. */
async function startEdges(t: TestContext, ...tickets: { current: Secret<Buffer> }[]) {
  const { ca, lookup } = await createTestCertificates('adit.localhost')
  const clients = await createClientAuthority('clients')
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
  })
  const tunnels = new TestTunnels()
    .add(HOST, createLocalTunnel(upstream, { proto: 'https' }))
    .add(
      LOCKED,
      createLocalTunnel(upstream, { proto: 'https', options: { mutualTls: { caPem: clients.ca } } }),
    )
  const ports: number[] = []
  for (const secret of tickets) {
    const { tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup, tickets: secret })
    ports.push(tlsPort)
  }
  const ask = async (edge: number, options: ConnectionOptions, servername = HOST) => {
    const socket = connect({ port: ports[edge]!, host: '127.0.0.1', servername, ca, ...options })
    t.after(() => socket.destroy())
    const client = new RawClient(socket).write(`GET / HTTP/1.1\r\nHost: ${servername}\r\n\r\n`)
    const session = (await resumableSession(client))!
    return { session, isReused: (socket as TLSSocket).isSessionReused() }
  }
  return { ask, identity: await clients.issue('me') }
}

for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`each process resumes the sessions of all, until the secret is replaced, over ${maxVersion}`, async (t) => {
    const shared = { current: createSecret() }
    const { ask } = await startEdges(t, shared, shared, { current: createSecret() })
    const isResumed = async (edge: number, session: Buffer) =>
      (await ask(edge, { maxVersion, session })).isReused

    const { session } = await ask(0, { maxVersion })
    for (const edge of [0, 1, 0, 1]) assert.equal(await isResumed(edge, session), true)
    assert.equal(await isResumed(2, session), false)

    shared.current = createSecret()
    assert.equal(await isResumed(0, session), false)
    assert.equal(await isResumed(1, session), false)
    const { session: next } = await ask(0, { maxVersion })
    assert.equal(await isResumed(1, next), true)
  })

  test(`no process resumes a session where client certificates are checked, over ${maxVersion} (P34)`, async (t) => {
    const shared = { current: createSecret() }
    const { ask, identity } = await startEdges(t, shared, shared)

    const { session } = await ask(0, { maxVersion, ...identity }, LOCKED)
    const { session: open } = await ask(0, { maxVersion })
    for (const ticket of [session, open]) {
      const { isReused } = await ask(1, { maxVersion, ...identity, session: ticket }, LOCKED)
      assert.equal(isReused, false)
    }
    assert.equal((await ask(1, { maxVersion, session })).isReused, false)
  })
}
