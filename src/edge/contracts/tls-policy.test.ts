import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import { startTcp } from '../../../test/support/local-server.ts'
import { RawClient, resumableSession } from '../../../test/support/raw-client.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { createClientAuthority } from '../testing/client-certificates.ts'
import { startEdge } from '../testing/edge.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const OPEN = 'open.adit.localhost'
const LOCKED = 'locked.adit.localhost'
const WILD = 'any.wild.adit.localhost'

/** An edge with an open and two protected hosts, and an upstream that records the requests it gets. */
async function startHosts(t: TestContext) {
  const server = await createTestCertificates('adit.localhost')
  const clients = await createClientAuthority('clients')
  const others = await createClientAuthority('others')
  const reached: string[] = []
  const upstream = await startTcp(t, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      reached.push(/host: (\S+)/i.exec(chunk.toString('latin1'))?.[1] ?? '')
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  const mutualTls = { caPem: clients.ca }
  const tunnels = new TestTunnels()
    .add(OPEN, createLocalTunnel(upstream, { proto: 'https' }))
    .add(LOCKED, createLocalTunnel(upstream, { proto: 'https', options: { mutualTls } }))
    .add(
      '*.wild.adit.localhost',
      createLocalTunnel(upstream, { proto: 'https', options: { mutualTls: { caPem: others.ca } } }),
    )
  const { tlsPort } = await startEdge(t, tunnels, {}, { certificates: server.lookup })
  const connect = (servername: string | undefined, options: ConnectionOptions = {}) => {
    const socket = connectTls({
      port: tlsPort,
      host: '127.0.0.1',
      ...(servername === undefined ? {} : { servername }),
      ca: server.ca,
      ALPNProtocols: ['http/1.1'],
      checkServerIdentity: () => undefined,
      ...options,
    })
    t.after(() => socket.destroy())
    return new RawClient(socket)
  }
  return {
    reached,
    tlsPort,
    ca: server.ca,
    connect,
    good: await clients.issue('me'),
    expired: await clients.issue('me', { expired: true }),
    foreign: await others.issue('me'),
  }
}

const ask = (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`

test('a client certificate is required and must come from the right authority', async (t) => {
  const { connect, reached, good, foreign, expired } = await startHosts(t)

  const right = await connect(LOCKED, good).write(ask(LOCKED)).untilText('ok')
  assert.match(right.text, /^HTTP\/1\.1 200 /)
  assert.equal(reached.length, 1)
  for (const wrong of [{}, foreign, expired]) {
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const client = connect(LOCKED, { ...wrong, maxVersion })
      client.write(ask(LOCKED))
      await client.until(({ closed }) => closed)
      assert.equal(client.text, '')
    }
  }
  assert.equal(reached.length, 1)
})

test('a connection of one policy never reaches a host of another: 421, first request or second', async (t) => {
  const { connect, reached, good, tlsPort, ca } = await startHosts(t)
  const names = [OPEN, LOCKED, WILD, OPEN.toUpperCase(), `${LOCKED}.`, 'Locked.Adit.Localhost']
  const policyOf = (name: string) => {
    const plain = name.toLowerCase().replace(/\.$/, '')
    return plain.includes('.wild.') ? WILD : plain
  }
  let combinations = 0
  for (const sni of names) {
    // The wildcard host requires a certificate of another authority, so no handshake succeeds there.
    if (policyOf(sni) === WILD) continue
    for (const host of [...names, `${LOCKED}:443`, `other.wild.adit.localhost`]) {
      for (const second of [false, true]) {
        const same = policyOf(sni) === policyOf(host.replace(/:\d+$/, ''))
        reached.length = 0
        const client = connect(sni, good)
        if (second) {
          await client.write(ask(sni)).untilText('ok')
          reached.length = 0
        }
        client.write(ask(host))
        await client.until(({ text }) => text.split('HTTP/1.1 ').length === (second ? 3 : 2))
        combinations++

        const last = client.text.split('HTTP/1.1 ').at(-1)!
        assert.equal(last.startsWith(same ? '200' : '421'), true, `${sni} then ${host}: ${last.slice(0, 20)}`)
        assert.equal(reached.length, same ? 1 : 0)
        if (!same) await client.untilClosed()
        client.socket.destroy()
      }
    }
  }
  for (const sni of [OPEN, LOCKED]) {
    for (const host of names) {
      const session = connectHttp2(`https://${sni}:${tlsPort}`, {
        ca,
        host: '127.0.0.1',
        servername: sni,
        ...good,
      })
      session.on('error', () => {})
      t.after(() => session.destroy())
      const stream = session.request({ ':authority': host })
      stream.on('error', () => {})
      const [headers] = await once(stream, 'response')
      combinations++

      assert.equal(headers[':status'], policyOf(sni) === policyOf(host) ? 200 : 421, `${sni} then ${host}`)
      session.destroy()
    }
  }
  assert.ok(combinations > 80, `${combinations} combinations`)
})

test('a connection without a server name is not served', async (t) => {
  const { connect, reached } = await startHosts(t)

  for (const servername of [undefined, '']) {
    const client = connect(servername)
    client.write(ask(OPEN))
    await client.until(({ closed }) => closed)
    assert.equal(client.text, '')
  }
  assert.equal(reached.length, 0)
})

test('a resumed session gives no access that a full handshake would not', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const { connect, reached, good } = await startHosts(t)
    const open = await resumableSession(connect(OPEN, { maxVersion }).write(ask(OPEN)))
    const locked = await resumableSession(connect(LOCKED, { ...good, maxVersion }).write(ask(LOCKED)))
    reached.length = 0

    for (const session of [open, locked]) {
      for (const name of [LOCKED, WILD]) {
        const client = connect(name, { maxVersion, ...(session === undefined ? {} : { session }) })
        client.write(ask(name))
        await client.until(({ closed }) => closed)
        assert.equal(client.text, '', `${maxVersion} ${name}`)
      }
    }
    assert.equal(reached.length, 0)
    // Where no certificate is required, resumption works.
    const resumed = connect(OPEN, { maxVersion, ...(open === undefined ? {} : { session: open }) })
    await resumed.write(ask(OPEN)).untilText('ok')
    assert.equal((resumed.socket as TLSSocket).isSessionReused(), true)
  }
})

test('legacy versions and weak ciphers are rejected', async (t) => {
  const { connect, reached } = await startHosts(t)

  for (const options of [
    { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
    { maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA:AES256-SHA256@SECLEVEL=0' },
    { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256@SECLEVEL=0' },
  ] as ConnectionOptions[]) {
    const client = connect(OPEN, options)
    client.write(ask(OPEN))
    await client.until(({ closed }) => closed)
    assert.equal(client.text, '')
  }
  assert.equal(reached.length, 0)
})
