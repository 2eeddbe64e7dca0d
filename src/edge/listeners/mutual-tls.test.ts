import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { RawClient, resumableSession } from '../../../test/support/raw-client.ts'
import { CertificateAuthority, HttpsEdge, HttpsRoute } from '../../resources/index.ts'
import { createClientAuthority } from '../testing/client-certificates.ts'
import { type HttpsEdgeHarness, startHttpsEdge } from '../testing/https-edge.ts'

/** Host names with the TLS policy of their edge. */
const NAMES = {
  'open.adit.localhost': 'open',
  'also-open.adit.localhost': 'open',
  'new-only.adit.localhost': 'new',
  'locked.adit.localhost': 'ours',
  '*.locked.adit.localhost': 'ours',
  'theirs.adit.localhost': 'theirs',
}

async function startEdges(t: TestContext) {
  const reached: string[] = []
  let lastHeaders: Record<string, unknown> = {}
  const harness = await startHttpsEdge(t, (request, response) => {
    reached.push(`${request.headers.host} ${request.headers['adit-mtls-subject-cn'] ?? ''}`)
    lastHeaders = request.headers
    response.end('ok')
  })
  const { config, backendId } = harness
  const ours = await createClientAuthority('ours')
  const theirs = await createClientAuthority('theirs')
  const authorities = {
    ours: config.create(CertificateAuthority, { ca_pem: ours.ca }),
    theirs: config.create(CertificateAuthority, { ca_pem: theirs.ca }),
  }
  const edges = new Map<string, string>()
  for (const [name, policy] of Object.entries(NAMES)) {
    const mutual =
      policy === 'ours' || policy === 'theirs'
        ? { mutual_tls: { certificate_authority_ids: [authorities[policy]] } }
        : {}
    const termination = policy === 'new' ? { tls_termination: { min_version: '1.3' } } : {}
    const edge_id = config.create(HttpsEdge, { hostports: [`${name}:443`], ...mutual, ...termination })
    const backend = { backend_id: backendId }
    config.create(HttpsRoute, { edge_id, match_type: 'path_prefix', match: '/', backend })
    edges.set(name, edge_id)
  }
  await config.waitUntilApplied()
  return {
    ...harness,
    reached,
    fields: () => lastHeaders,
    ours,
    theirs,
    authorities,
    edges,
    client: await ours.issue('me'),
  }
}

function connect(
  t: TestContext,
  { tlsPort, ca }: HttpsEdgeHarness,
  servername: string,
  options: ConnectionOptions = {},
) {
  const socket = connectTls({
    port: tlsPort,
    host: '127.0.0.1',
    servername,
    ca,
    ALPNProtocols: ['http/1.1'],
    checkServerIdentity: () => undefined,
    ...options,
  })
  t.after(() => socket.destroy())
  return new RawClient(socket)
}

const get = (host: string) => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`

function policyOf(host: string): string | undefined {
  const name = host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '')
  if (name in NAMES) return NAMES[name as keyof typeof NAMES]
  return name.endsWith('.locked.adit.localhost') ? 'ours' : undefined
}

test('a Host of another TLS policy than the server name gets 421, in 200 combinations (P33)', async (t) => {
  const harness = await startEdges(t)
  const { reached, client, tlsPort, ca } = harness
  const names = [
    'open.adit.localhost',
    'also-open.adit.localhost',
    'new-only.adit.localhost',
    'locked.adit.localhost',
    'any.locked.adit.localhost',
    'deep.any.locked.adit.localhost',
    'LOCKED.adit.localhost',
  ]
  const hosts = [
    ...names,
    'theirs.adit.localhost',
    'locked.adit.localhost.',
    'locked.adit.localhost:443',
    'Any.Locked.Adit.localhost',
    '127.0.0.1',
  ]
  let combinations = 0
  const check = (status: number, sni: string, host: string, description: string) => {
    combinations++
    const expected = policyOf(host) === undefined ? 404 : policyOf(host) === policyOf(sni) ? 200 : 421
    assert.equal(status, expected, `${sni} then ${host}, ${description}`)
    assert.equal(reached.length, expected === 200 ? 1 : 0, `${sni} then ${host}, ${description}`)
    reached.length = 0
  }

  for (const sni of names) {
    for (const host of hosts) {
      for (const second of [false, true]) {
        const connection = connect(t, harness, sni, client)
        if (second) await connection.write(get(sni)).untilText('ok')
        reached.length = 0
        connection.received = Buffer.alloc(0)
        await connection.write(get(host)).until(({ text }) => /\r\n\r\n/.test(text))
        check(
          Number(/^HTTP\/1\.1 (\d+)/.exec(connection.text)?.[1]),
          sni,
          host,
          second ? 'second request' : 'first',
        )
        connection.socket.destroy()
      }
    }
    for (const host of hosts.slice(0, 8)) {
      const session = connectHttp2(`https://${sni}:${tlsPort}`, {
        ca,
        host: '127.0.0.1',
        servername: sni,
        ...client,
        checkServerIdentity: () => undefined,
      })
      session.on('error', () => {})
      const stream = session.request({ ':authority': host })
      stream.on('error', () => {})
      const [headers] = await once(stream, 'response')
      check(headers[':status'], sni, host, 'HTTP/2')
      session.destroy()
    }
  }

  assert.ok(combinations >= 200, `${combinations} combinations`)
})

test('a resumed session gets no access without a valid certificate, also after authorities change (P34)', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const harness = await startEdges(t)
    const { config, reached, client, edges, authorities, theirs } = harness
    const host = 'locked.adit.localhost'
    const request = (name: string, options: ConnectionOptions) =>
      connect(t, harness, name, { maxVersion, ...options }).write(get(name))
    const open = await resumableSession(request('open.adit.localhost', client))
    const locked = await resumableSession(request(host, client))
    reached.length = 0
    const assertRejected = async (name: string, options: ConnectionOptions, description: string) => {
      const connection = request(name, options)
      await connection.until(({ closed }) => closed, 'the end of the connection')
      assert.equal(connection.text, '', `${maxVersion}: ${description}`)
      assert.equal(reached.length, 0, `${maxVersion}: ${description}`)
    }
    const resuming = (session: Buffer | undefined) => (session === undefined ? {} : { session })

    await assertRejected(host, {}, 'no certificate')
    await assertRejected(host, resuming(open), 'from an open edge')
    await assertRejected(host, resuming(locked), 'from itself, without a certificate')
    await assertRejected(
      'theirs.adit.localhost',
      { ...client, ...resuming(locked) },
      'from one authority to another',
    )
    config.update(edges.get(host)!, { mutual_tls: { certificate_authority_ids: [authorities.theirs] } })
    await config.waitUntilApplied()
    await assertRejected(host, { ...client, ...resuming(locked) }, 'after its authority was removed')
    const other = await theirs.issue('other')
    await request(host, other).untilText('ok')

    assert.deepEqual(reached, [`${host} other`])
  }
})

test('expired clients, expired authorities and open connections of a removed authority are rejected', async (t) => {
  const harness = await startEdges(t)
  const { config, ours, client, edges, reached } = harness
  const host = 'locked.adit.localhost'
  const expired = await ours.issue('expired', { expired: true })
  const expiredAuthority = await createClientAuthority('expired', { expired: true })
  const clientOfExpired = await expiredAuthority.issue('me')

  const withExpired = connect(t, harness, host, expired).write(get(host))
  await withExpired.until(({ closed }) => closed)
  const open = connect(t, harness, host, client)
  await open.write(get(host)).untilText('ok')
  const authorityId = config.create(CertificateAuthority, { ca_pem: expiredAuthority.ca })
  config.update(edges.get(host)!, { mutual_tls: { certificate_authority_ids: [authorityId] } })
  await config.waitUntilApplied()
  reached.length = 0
  const withExpiredAuthority = connect(t, harness, host, clientOfExpired).write(get(host))
  await withExpiredAuthority.until(({ closed }) => closed)
  open.write(get(host))
  await open.untilClosed()

  assert.deepEqual([withExpired.text, withExpiredAuthority.text, reached.length], ['', '', 0])
  assert.match(open.text, /HTTP\/1\.1 421 /)
})

test('names in a client certificate reach the upstream unchanged, however unusual', async (t) => {
  const harness = await startEdges(t)
  const { ours, reached } = harness
  const names: string[] = []
  for (const commonName of ['plain', 'Jörg → 💡', 'a, b\r\nx: y', '100%']) {
    const client = await ours.issue(commonName)
    await connect(t, harness, 'locked.adit.localhost', client)
      .write(get('locked.adit.localhost'))
      .untilText('ok')
    names.push(decodeURIComponent(reached.at(-1)!.slice('locked.adit.localhost '.length)))
  }

  assert.deepEqual(names, ['plain', 'Jörg → 💡', 'a, b\r\nx: y', '100%'])
})

test('a name in a certificate cannot pass for several', async (t) => {
  const harness = await startEdges(t)
  const { ours, fields } = harness
  const client = await ours.issue('me', {
    dns: ['real.test', 'x, DNS:forged.test, y', 'a"b, DNS:forged.test'],
    emails: ['me@real.test', 'you@real.test'],
  })

  await connect(t, harness, 'locked.adit.localhost', client)
    .write(get('locked.adit.localhost'))
    .untilText('ok')

  const names = String(fields()['adit-mtls-subject-alt-name-dns']).split(',')
  assert.deepEqual(names.map(decodeURIComponent), [
    'real.test',
    'x, DNS:forged.test, y',
    'a"b, DNS:forged.test',
  ])
  assert.equal(fields()['adit-mtls-email-addresses'], 'me@real.test,you@real.test')
  assert.match(String(fields()['adit-mtls-serial-number']), /^[0-9a-f]+$/)
})
