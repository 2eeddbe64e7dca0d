import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { CertificateAuthority } from '../../resources/index.ts'
import { clientAuthority } from '../testing/client-certificates.ts'
import { HOST, startHttpsEdge } from '../testing/https-edge.ts'

const FLAGS = { '1.0': '-tls1', '1.1': '-tls1_1', '1.2': '-tls1_2', '1.3': '-tls1_3' } as const
type Version = keyof typeof FLAGS
const VERSIONS = Object.keys(FLAGS) as Version[]

/** Which version an independent client comes to speak, if it may speak this one alone; with what it says of the rest. */
async function handshake(port: number, version: Version, more: string[] = []) {
  const cipher = version === '1.3' ? [] : ['-cipher', 'DEFAULT@SECLEVEL=0']
  const args = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', HOST, FLAGS[version], ...cipher]
  const client = spawn('openssl', [...args, ...more])
  let said = ''
  for (const stream of [client.stdout, client.stderr])
    stream.on('data', (piece) => {
      said += piece
    })
  client.stdin.on('error', () => {})
  client.stdin.end(`GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`)
  await new Promise((resolve) => client.once('close', resolve))
  return { spoken: /^New, TLSv1[^C]*Cipher is (?!\(NONE\))/m.test(said), said }
}

const spoken = async (port: number) => {
  const found: Version[] = []
  for (const version of VERSIONS) if ((await handshake(port, version)).spoken) found.push(version)
  return found
}

test('versions from the minimum on are spoken, no others, and 1.2 is the minimum unless told', async (t) => {
  const { config, edgeId, tlsPort } = await startHttpsEdge(t)
  assert.deepEqual(await spoken(tlsPort), ['1.2', '1.3'])

  for (const min_version of [...VERSIONS, null]) {
    config.update(edgeId, { tls_termination: { min_version } })
    await config.applied()
    assert.deepEqual(
      await spoken(tlsPort),
      VERSIONS.slice(VERSIONS.indexOf(min_version ?? '1.2')),
      `${min_version}`,
    )
  }

  config.update(edgeId, { tls_termination: { min_version: '1.0', enabled: false } })
  await config.applied()
  assert.deepEqual(await spoken(tlsPort), ['1.2', '1.3'], 'off')
})

test('an old version is spoken with forward secrecy, over HTTP/1.1 alone', async (t) => {
  const { config, edgeId, tlsPort } = await startHttpsEdge(t)
  config.update(edgeId, { tls_termination: { min_version: '1.0' } })
  await config.applied()

  const old = await handshake(tlsPort, '1.0', ['-ign_eof'])
  const offered = await handshake(tlsPort, '1.2', ['-alpn', 'h2,http/1.1'])
  const unsafe = await handshake(tlsPort, '1.0', ['-cipher', 'AES128-SHA@SECLEVEL=0'])

  assert.match(old.said, /HTTP\/1\.1 200 OK/)
  assert.match(old.said, /Cipher is ECDHE-/)
  assert.match(offered.said, /ALPN protocol: http\/1\.1/)
  assert.equal(unsafe.spoken, false, 'a key exchange without forward secrecy')
})

test('one edge with an old version gives it to no other name, nor to clients that must show a certificate', async (t) => {
  const { config, edgeId, tlsPort } = await startHttpsEdge(t)
  const { ca } = await clientAuthority('clients')
  const authority = config.create(CertificateAuthority, { ca_pem: ca })
  const old = { tls_termination: { min_version: '1.0' } }
  config.update(edgeId, old)
  await config.applied()
  assert.equal((await handshake(tlsPort, '1.0')).spoken, true)
  const other = await handshake(tlsPort, '1.0', ['-servername', 'other.adit.localhost'])

  config.update(edgeId, { ...old, mutual_tls: { certificate_authority_ids: [authority] } })
  await config.applied()
  const locked = await handshake(tlsPort, '1.0')

  assert.match(other.said, /alert protocol version/)
  assert.match(locked.said, /alert protocol version/)
})
