import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { CertificateAuthority } from '../../resources/index.ts'
import { createClientAuthority } from '../testing/client-certificates.ts'
import { HOST, startHttpsEdge } from '../testing/https-edge.ts'

const FLAGS = { '1.0': '-tls1', '1.1': '-tls1_1', '1.2': '-tls1_2', '1.3': '-tls1_3' } as const
type Version = keyof typeof FLAGS
const VERSIONS = Object.keys(FLAGS) as Version[]

/** Runs an OpenSSL client with this version alone; returns whether the handshake succeeded, and the client's output. */
async function handshake(port: number, version: Version, extraArgs: string[] = []) {
  const cipher = version === '1.3' ? [] : ['-cipher', 'DEFAULT@SECLEVEL=0']
  const args = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', HOST, FLAGS[version], ...cipher]
  const client = spawn('openssl', [...args, ...extraArgs])
  let output = ''
  for (const stream of [client.stdout, client.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  client.stdin.on('error', () => {})
  client.stdin.end(`GET / HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n\r\n`)
  await new Promise((resolve) => client.once('close', resolve))
  return { succeeded: /^New, TLSv1[^C]*Cipher is (?!\(NONE\))/m.test(output), output }
}

const acceptedVersions = async (port: number) => {
  const accepted: Version[] = []
  for (const version of VERSIONS) if ((await handshake(port, version)).succeeded) accepted.push(version)
  return accepted
}

test('versions from the minimum on are accepted, no others, and the default minimum is 1.2', async (t) => {
  const { config, edgeId, tlsPort } = await startHttpsEdge(t)
  assert.deepEqual(await acceptedVersions(tlsPort), ['1.2', '1.3'])

  for (const min_version of [...VERSIONS, null]) {
    config.update(edgeId, { tls_termination: { min_version } })
    await config.waitUntilApplied()
    assert.deepEqual(
      await acceptedVersions(tlsPort),
      VERSIONS.slice(VERSIONS.indexOf(min_version ?? '1.2')),
      `${min_version}`,
    )
  }

  config.update(edgeId, { tls_termination: { min_version: '1.0', enabled: false } })
  await config.waitUntilApplied()
  assert.deepEqual(await acceptedVersions(tlsPort), ['1.2', '1.3'], 'off')
})

test('a legacy version is accepted with forward secrecy, over HTTP/1.1 alone', async (t) => {
  const { config, edgeId, tlsPort } = await startHttpsEdge(t)
  config.update(edgeId, { tls_termination: { min_version: '1.0' } })
  await config.waitUntilApplied()

  const old = await handshake(tlsPort, '1.0', ['-ign_eof'])
  const offered = await handshake(tlsPort, '1.2', ['-alpn', 'h2,http/1.1'])
  const unsafe = await handshake(tlsPort, '1.0', ['-cipher', 'AES128-SHA@SECLEVEL=0'])

  assert.match(old.output, /HTTP\/1\.1 200 OK/)
  assert.match(old.output, /Cipher is ECDHE-/)
  assert.match(offered.output, /ALPN protocol: http\/1\.1/)
  assert.equal(unsafe.succeeded, false, 'a key exchange without forward secrecy')
})

test('a legacy version of one edge applies to no other name, nor where a client certificate is required', async (t) => {
  const { config, edgeId, tlsPort } = await startHttpsEdge(t)
  const { ca } = await createClientAuthority('clients')
  const authority = config.create(CertificateAuthority, { ca_pem: ca })
  const old = { tls_termination: { min_version: '1.0' } }
  config.update(edgeId, old)
  await config.waitUntilApplied()
  assert.equal((await handshake(tlsPort, '1.0')).succeeded, true)
  const other = await handshake(tlsPort, '1.0', ['-servername', 'other.adit.localhost'])

  config.update(edgeId, { ...old, mutual_tls: { certificate_authority_ids: [authority] } })
  await config.waitUntilApplied()
  const locked = await handshake(tlsPort, '1.0')

  assert.match(other.output, /alert protocol version/)
  assert.match(locked.output, /alert protocol version/)
})
