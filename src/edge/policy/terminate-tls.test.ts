import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { startTcp } from '../../../test/support/local-server.ts'
import { createSelfSigned } from '../../certs/index.ts'
import {
  CertificateAuthority,
  TlsEdge,
  TunnelGroupBackend,
  Vault,
  VaultSecret,
} from '../../resources/index.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { type ClientAuthority, createClientAuthority } from '../testing/client-certificates.ts'
import { TestConfiguration } from '../testing/configuration.ts'
import { startEdge } from '../testing/edge.ts'
import { HTTP_VERSIONS, startPolicyEndpoint } from '../testing/policy-endpoint.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'raw.adit.localhost'

let trusted: ClientAuthority
let foreign: ClientAuthority
before(async () => {
  trusted = await createClientAuthority('trusted')
  foreign = await createClientAuthority('foreign')
})

/** A policy with this action and rules that run after it. */
const policyOf = (config: object, ...rules: object[]) =>
  JSON.stringify({ on_tcp_connect: [{ actions: [{ type: 'terminate-tls', config }] }, ...rules] })

/** What a client got: the version of TLS, the name of the certificate and the text; empty when it was rejected. */
function open(port: number, options: ConnectionOptions = {}): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, servername: HOST, rejectUnauthorized: false, ...options })
    let text = ''
    let handshake = ''
    socket.on('secureConnect', () => {
      handshake = `${socket.getProtocol()} ${socket.getPeerCertificate().subject.CN} `
    })
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(text === '' ? '' : handshake + text))
  })
}

/** An edge with an upstream that greets in plain text. */
async function start(t: Parameters<typeof startEdge>[0]) {
  const upstream = await startTcp(t, (socket) => socket.end('hello'))
  const tunnels = new TestTunnels()
  const { lookup } = await createTestCertificates('adit.localhost')
  const { edge, tlsPort } = await startEdge(t, tunnels, {}, { certificates: lookup })
  const config = new TestConfiguration(edge)
  const bind = (trafficPolicy: string) => {
    const options = { trafficPolicy }
    tunnels.add(HOST, createLocalTunnel(upstream, { proto: 'tls', hostport: `${HOST}:443`, options }))
  }
  return { upstream, tunnels, edge, config, tlsPort, bind }
}

test('terminate-tls ends TLS of a tls endpoint within its versions, with its own certificate', async (t) => {
  const { tlsPort, bind } = await start(t)
  const { certificatePem, privateKeyPem } = await createSelfSigned({ commonName: 'own' })

  bind(policyOf({ max_version: '1.2' }))
  const old = await open(tlsPort)
  bind(
    policyOf({
      min_version: '1.3',
      server_certificate: certificatePem,
      server_private_key: privateKeyPem.reveal(),
    }),
  )
  const own = await open(tlsPort)
  const tooOld = await open(tlsPort, { maxVersion: 'TLSv1.2' })

  assert.deepEqual([old, own, tooOld], [`TLSv1.2 ${HOST} hello`, 'TLSv1.3 own hello', ''])
})

for (const [strategy, expected] of [
  [undefined, [true, false, false]],
  ['require-and-verify', [true, false, false]],
  ['require-any', [true, true, false]],
  ['request', [true, true, true]],
] as const)
  test(`client certificates: ${strategy ?? 'the default'} admits what it says`, async (t) => {
    const { tlsPort, bind } = await start(t)
    const clients = [await trusted.issue('ann'), await foreign.issue('ann'), {}]
    bind(
      policyOf({
        mutual_tls_certificate_authorities: [trusted.ca],
        ...(strategy && { mutual_tls_verification_strategy: strategy }),
      }),
    )

    const admitted: boolean[] = []
    for (const client of clients) admitted.push((await open(tlsPort, client)) !== '')

    assert.deepEqual(admitted, expected)
  })

test('rules of a tls endpoint see the client certificate', async (t) => {
  const { tlsPort, bind } = await start(t)
  bind(
    policyOf(
      { mutual_tls_certificate_authorities: [trusted.ca] },
      {
        expressions: [
          "actions.ngrok.terminate_tls.client.subject.common_name != 'ann' || conn.tls.version != '1.3' || " +
            "conn.tls.server.san.dns_names.size() == 0 || !conn.tls.ja4_fingerprint.startsWith('t13d')",
        ],
        actions: [{ type: 'deny' }],
      },
    ),
  )

  const ann = await open(tlsPort, await trusted.issue('ann'))
  const bob = await open(tlsPort, await trusted.issue('bob'))

  assert.deepEqual([ann, bob], [`TLSv1.3 ${HOST} hello`, ''])
})

test('a certificate in a secret is replaced with the secret, and nothing is admitted without it', async (t) => {
  const { tlsPort, bind, config } = await start(t)
  const [first, second] = await Promise.all(
    ['first', 'second'].map(async (commonName) => {
      const { certificatePem, privateKeyPem } = await createSelfSigned({ commonName })
      return { cert: certificatePem, key: privateKeyPem.reveal() }
    }),
  )
  bind(
    policyOf({
      server_certificate: "${secrets.get('tls', 'cert')}",
      server_private_key: "${secrets.get('tls', 'key')}",
    }),
  )

  const without = await open(tlsPort)
  const vault_id = config.create(Vault, { name: 'tls' })
  const ids = Object.entries(first!).map(([name, value]) =>
    config.create(VaultSecret, { vault_id, name, value }),
  )
  await config.waitUntilApplied()
  const before = await open(tlsPort)
  ids.forEach((id, index) => {
    config.update(id, { value: Object.values(second!)[index] })
  })
  await config.waitUntilApplied()
  const after = await open(tlsPort)

  assert.deepEqual([without, before, after], ['', 'TLSv1.3 first hello', 'TLSv1.3 second hello'])
})

test('terminate-tls of a TLS edge verifies clients with the authorities of its account alone', async (t) => {
  const { upstream, tunnels, edge, config, tlsPort } = await start(t)
  const labels = { app: 'raw' }
  tunnels.tunnels.push(createLocalTunnel(upstream, { labels }))
  const backend_id = config.create(TunnelGroupBackend, { labels })
  const edgeId = config.create(TlsEdge, { hostports: [`${HOST}:443`], backend: { backend_id } })
  const ids = [config, new TestConfiguration(edge, 'ac_other')].map((owner) =>
    owner.create(CertificateAuthority, { ca_pem: trusted.ca }),
  )
  const client = await trusted.issue('ann')
  const outcomes: string[][] = []
  for (const id of ids) {
    const value = policyOf({ mutual_tls_certificate_authorities: [id] })
    config.update(edgeId, { traffic_policy: { value } })
    await config.waitUntilApplied()
    outcomes.push([await open(tlsPort, client), await open(tlsPort)])
  }

  assert.deepEqual(outcomes, [
    [`TLSv1.3 ${HOST} hello`, ''],
    ['', ''],
  ])
})

test('terminate-tls of an https endpoint verifies clients and limits versions', async (t) => {
  const { ask } = await startPolicyEndpoint(
    t,
    policyOf(
      { max_version: '1.2', mutual_tls_certificate_authorities: [trusted.ca] },
      { expressions: ["conn.tls.version != '1.2'"], actions: [{ type: 'deny' }] },
    ),
  )
  const tls = await trusted.issue('ann')

  for (const version of HTTP_VERSIONS) {
    assert.equal((await ask({ tls }, version)).status, 200, version)
    assert.equal((await ask({}, version)).status, 0, version)
    assert.equal((await ask({ tls: { ...tls, minVersion: 'TLSv1.3' } }, version)).status, 0, version)
  }
})

test('rules of requests read what terminate-tls found out about the connection', async (t) => {
  const { ask } = await startPolicyEndpoint(
    t,
    JSON.stringify({
      on_tcp_connect: [
        {
          actions: [
            {
              type: 'terminate-tls',
              config: {
                mutual_tls_certificate_authorities: [
                  `\${'${trusted.ca.replaceAll('\n', '\\n')}'}`,
                  foreign.ca,
                ],
              },
            },
            { type: 'log', config: { metadata: { name: '${conn.tls.client.subject.common_name}' } } },
          ],
        },
      ],
      on_http_request: [
        {
          expressions: ["!(actions.ngrok.terminate_tls.client.issuer.common_name == 'trusted')"],
          actions: [{ type: 'custom-response', config: { status_code: 403 } }],
        },
      ],
      on_http_response: [
        {
          actions: [
            { type: 'add-headers', config: { headers: { name: '${actions.ngrok.log.metadata.name}' } } },
          ],
        },
      ],
    }),
  )

  for (const version of HTTP_VERSIONS) {
    const admitted = await ask({ tls: await trusted.issue('ann') }, version)
    assert.deepEqual([admitted.status, admitted.headers.name], [200, 'ann'], version)
    assert.equal((await ask({ tls: await foreign.issue('eve') }, version)).status, 403, version)
  }
})
