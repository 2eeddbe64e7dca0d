import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { connect, createServer } from 'node:tls'
import { listen } from '../../../test/support/local-server.ts'
import { Secret } from '../../base/values/secret.ts'
import { CertificateProblem } from '../problem.ts'
import {
  createAuthority,
  createSelfSigned,
  type KeyedCertificate,
  loadAuthority,
  renewSelfSigned,
} from './authority.ts'
import { readCertificateAuthority, readTlsCertificate } from './x509.ts'

const DAY = 24 * 60 * 60 * 1000

async function serve(t: TestContext, leaf: KeyedCertificate): Promise<number> {
  const server = createServer({ cert: leaf.certificatePem, key: leaf.privateKeyPem.reveal() }, (s) => s.end())
  return listen(t, server)
}

/** Connects as a strict client. Returns undefined when it accepts the certificate, else the error. */
async function rejectionOf(port: number, ca: string, servername: string): Promise<string | undefined> {
  const host = '127.0.0.1'
  const name = servername === host ? {} : { servername }
  const socket = connect({ host, port, ca, ...name })
  try {
    await once(socket, 'secureConnect')
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  } finally {
    socket.destroy()
  }
}

test('the private root is a P-256 authority for ten years with path length 0', async () => {
  const now = Date.UTC(2030, 0, 1)
  const root = await createAuthority({ now })

  const details = readCertificateAuthority(root.certificatePem)
  const certificate = new X509Certificate(root.certificatePem)

  assert.equal(details.not_before, '2029-12-31T23:59:00Z')
  assert.equal(certificate.validToDate.getTime(), now + 3650 * DAY)
  assert.deepEqual(details.key_usages, ['cert_sign', 'crl_sign'])
  assert.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
  assert.ok(certificate.verify(certificate.publicKey))
  assert.match(certificate.toLegacyObject().subject.CN as string, /private root/)
})

test('clients that trust the root accept its server certificates for their names', async (t) => {
  const root = await createAuthority()
  const authority = await loadAuthority(root)
  const other = await createAuthority()
  const leaf = await authority.issueLeaf({
    names: ['app.example.test', '*.wild.example.test'],
    ips: ['127.0.0.1', '::1'],
  })
  const port = await serve(t, leaf)

  const outcomes = {
    name: await rejectionOf(port, authority.certificatePem, 'app.example.test'),
    wildcard: await rejectionOf(port, authority.certificatePem, 'a.wild.example.test'),
    address: await rejectionOf(port, authority.certificatePem, '127.0.0.1'),
    deeper: await rejectionOf(port, authority.certificatePem, 'a.b.wild.example.test'),
    stranger: await rejectionOf(port, authority.certificatePem, 'other.test'),
    distrust: await rejectionOf(port, other.certificatePem, 'app.example.test'),
  }

  assert.deepEqual(outcomes, {
    name: undefined,
    wildcard: undefined,
    address: undefined,
    deeper: 'ERR_TLS_CERT_ALTNAME_INVALID',
    stranger: 'ERR_TLS_CERT_ALTNAME_INVALID',
    distrust: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  })
})

test('a server certificate has exactly the expected usages', async () => {
  const authority = await loadAuthority(await createAuthority())
  const leaf = await authority.issueLeaf({
    names: ['App.Example.test'],
    ips: ['2001:db8::7', '192.0.2.1'],
    days: 7,
  })

  const details = readTlsCertificate(
    leaf.certificatePem + authority.certificatePem,
    leaf.privateKeyPem.reveal(),
  )

  assert.equal(details.subject_common_name, 'app.example.test')
  assert.deepEqual(details.subject_alternative_names, {
    dns_names: ['app.example.test'],
    ips: ['2001:db8::7', '192.0.2.1'],
  })
  assert.deepEqual(details.key_usages, ['digital_signature'])
  assert.deepEqual(details.extended_key_usages, ['server_auth'])
  assert.equal(details.private_key_type, 'ecdsa')
  assert.equal(new X509Certificate(leaf.certificatePem).ca, false)
  assert.equal(Date.parse(details.not_after) - Date.parse(details.not_before), 7 * DAY + 60_000)
})

test('a certificate never outlives its authority', async () => {
  const authority = await loadAuthority(await createAuthority({ years: 1 }))

  const leaf = await authority.issueLeaf({ names: ['a.test'], days: 4000 })

  assert.equal(leaf.notAfter.getTime(), authority.notAfter.getTime())
})

test('a name too long for a common name is only in the alternative names', async () => {
  const authority = await loadAuthority(await createAuthority())
  const name = `${'a'.repeat(60)}.${'b'.repeat(60)}.test`

  const leaf = await authority.issueLeaf({ names: [name] })

  const details = readTlsCertificate(leaf.certificatePem, leaf.privateKeyPem.reveal())
  assert.equal(details.subject_common_name, '')
  assert.deepEqual(details.subject_alternative_names.dns_names, [name])
})

test('an invalid name or address gets no certificate', async () => {
  const authority = await loadAuthority(await createAuthority())
  const bad = [
    '',
    '*',
    'a..b',
    '-a.test',
    'a b',
    'a.*.test',
    'a\0.test',
    '10.0.0.1',
    `${'a'.repeat(64)}.test`,
  ]

  for (const name of bad) {
    await assert.rejects(authority.issueLeaf({ names: [name] }), CertificateProblem, name)
  }
  await assert.rejects(authority.issueLeaf({ ips: ['fe80::1%eth0'] }), CertificateProblem)
  await assert.rejects(authority.issueLeaf({}), CertificateProblem)
})

test('a root is not loaded with a foreign key', async () => {
  const [one, two] = [await createAuthority(), await createAuthority()]

  const mixed = loadAuthority({ certificatePem: one.certificatePem, privateKeyPem: two.privateKeyPem })

  await assert.rejects(mixed, (error: CertificateProblem) => error.code === 'key_mismatch')
})

test('printing the material does not reveal the private key', async () => {
  const root = await createAuthority()

  assert.ok(root.privateKeyPem instanceof Secret)
  assert.doesNotMatch(JSON.stringify(root) + String(root.privateKeyPem), /PRIVATE KEY/)
})

test('the certificate for signing SAML requests is RSA-2048 and valid whatever the clock says', async () => {
  const created = await createSelfSigned({ commonName: 'adit saml' })

  const details = readTlsCertificate(created.certificatePem, created.privateKeyPem.reveal())

  const { publicKey } = new X509Certificate(created.certificatePem)
  assert.equal(publicKey.asymmetricKeyDetails?.modulusLength, 2048)
  assert.equal(details.subject_common_name, 'adit saml')
  assert.deepEqual([details.not_before, details.not_after], ['1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z'])
  assert.deepEqual(details.key_usages, ['digital_signature'])
})

test('a self-signed certificate is renewed with the same key', async () => {
  const before = await createSelfSigned({ commonName: 'adit saml', notAfter: new Date(DAY) })

  const after = await renewSelfSigned(before, { commonName: 'adit saml' })

  assert.equal(after.privateKeyPem.reveal(), before.privateKeyPem.reveal())
  const details = readTlsCertificate(after.certificatePem, before.privateKeyPem.reveal())
  assert.deepEqual([details.subject_common_name, details.not_after], ['adit saml', '9999-12-31T23:59:59Z'])
})
