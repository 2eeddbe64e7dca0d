import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createRandom, mutate, rounds } from '../../../test/support/random.ts'
import { CertificateProblem, type CertificateProblemCode } from '../problem.ts'
import { createAuthority } from './authority.ts'
import { readCertificateAuthority, readTlsCertificate } from './x509.ts'

const folder = mkdtempSync(join(tmpdir(), 'adit-x509-'))
after(() => rmSync(folder, { recursive: true }))
const path = (name: string) => join(folder, name)
const openssl = (...args: string[]) =>
  execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' }).toString()

const keyArguments = {
  rsa: ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
  weak: ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:1024'],
  ecdsa: ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  koblitz: ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:secp256k1'],
  ed25519: ['-algorithm', 'ED25519'],
  ed448: ['-algorithm', 'ED448'],
} as const

function makeKey(name: string, kind: keyof typeof keyArguments): string {
  openssl('genpkey', ...keyArguments[kind], '-out', `${name}.key`)
  return readFileSync(path(`${name}.key`), 'utf8')
}

/** A certificate made by openssl, self-signed unless an issuer is named; its key must exist already. */
function makeCertificate(name: string, subject: string, extensions: string[], ...more: string[]): string {
  const args = extensions.flatMap((extension) => ['-addext', extension])
  openssl(
    'req',
    '-x509',
    '-new',
    '-key',
    `${name}.key`,
    '-subj',
    subject,
    ...args,
    '-out',
    `${name}.crt`,
    ...more,
  )
  return readFileSync(path(`${name}.crt`), 'utf8')
}

const CA = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign']

makeKey('root', 'ecdsa')
const rootPem = makeCertificate('root', '/CN=Example Root', CA, '-days', '365')
makeKey('middle', 'ecdsa')
const middlePem = makeCertificate('middle', '/CN=Middle', CA, '-CA', 'root.crt', '-CAkey', 'root.key')
const leafKey = makeKey('leaf', 'rsa')
const LEAF = [
  'basicConstraints=CA:FALSE',
  'keyUsage=digitalSignature,keyEncipherment',
  'extendedKeyUsage=serverAuth,clientAuth,1.2.3.4',
  'subjectAltName=DNS:example.com,DNS:*.example.com,IP:192.0.2.7,IP:2001:db8:0:0::1',
]
const leafPem = makeCertificate(
  'leaf',
  '/C=DE/ST=Bavaria/L=Munich/O=Example/OU=Web/CN=example.com',
  LEAF,
  ...['-CA', 'middle.crt', '-CAkey', 'middle.key', '-set_serial', '0x0abc'],
)

function refused(code: CertificateProblemCode, field?: string) {
  return (error: unknown) => {
    assert.ok(error instanceof CertificateProblem, String(error))
    assert.equal(error.code, code)
    if (field !== undefined) assert.equal(error.field, field)
    return true
  }
}

test('an uploaded authority shows its name, validity and usages', () => {
  const facts = readCertificateAuthority(rootPem)

  const dates = openssl('x509', '-in', 'root.crt', '-noout', '-startdate', '-enddate', '-dateopt', 'iso_8601')
  const [notBefore, notAfter] = [...dates.matchAll(/=(\S+) (\S+)Z/g)].map(
    ([, day, time]) => `${day}T${time}Z`,
  )
  assert.deepEqual(facts, {
    ca_pem: rootPem,
    subject_common_name: 'Example Root',
    not_before: notBefore,
    not_after: notAfter,
    key_usages: ['cert_sign', 'crl_sign'],
    extended_key_usages: [],
  })
})

test('an authority without usages or a name has empty ones, and every usage has its name', () => {
  makeKey('plain', 'ecdsa')
  const plain = makeCertificate('plain', '/O=Nameless', ['basicConstraints=CA:TRUE'])
  const all =
    'digitalSignature,nonRepudiation,keyEncipherment,dataEncipherment,keyAgreement,keyCertSign,cRLSign,encipherOnly,decipherOnly'
  const every = makeCertificate('plain', '/CN=x', [
    'basicConstraints=CA:TRUE',
    `keyUsage=${all}`,
    'extendedKeyUsage=serverAuth,clientAuth,codeSigning,emailProtection,timeStamping,OCSPSigning,anyExtendedKeyUsage',
  ])

  const nothing = readCertificateAuthority(plain)
  const facts = readCertificateAuthority(every)

  assert.deepEqual(
    [nothing.subject_common_name, nothing.key_usages, nothing.extended_key_usages],
    ['', [], []],
  )
  assert.deepEqual(facts.key_usages, [
    'digital_signature',
    'content_commitment',
    'key_encipherment',
    'data_encipherment',
    'key_agreement',
    'cert_sign',
    'crl_sign',
    'encipher_only',
    'decipher_only',
  ])
  assert.deepEqual(facts.extended_key_usages, [
    'server_auth',
    'client_auth',
    'code_signing',
    'email_protection',
    'time_stamping',
    'ocsp_signing',
    'any',
  ])
})

test('text around a block, long lines and foreign line ends are tidied away', () => {
  const body = rootPem.split('\n').slice(1, -2)
  const odd = `Certificate:\r\n    Data: words\r\n-----BEGIN CERTIFICATE-----\r\n${body.join('')}\r\n-----END CERTIFICATE-----`

  const facts = readCertificateAuthority(odd)

  assert.equal(facts.ca_pem, rootPem)
})

test('an expired authority is taken', async () => {
  const old = await createAuthority({ commonName: 'Old', years: 1, now: Date.UTC(2001, 1, 1) })

  assert.equal(readCertificateAuthority(old.certificatePem).not_after, '2002-02-01T00:00:00Z')
})

const withHeaders = rootPem.replace('CERTIFICATE-----\n', 'CERTIFICATE-----\nComment: hello\n\n')
const refusals: [string, string, CertificateProblemCode][] = [
  ['nothing', '', 'empty'],
  ['blanks', ' \n\t', 'empty'],
  ['prose', 'hello', 'not_pem'],
  ['a block without an end', rootPem.slice(0, -30), 'not_pem'],
  ['an end that does not match', rootPem.replace('END CERTIFICATE', 'END X509'), 'not_pem'],
  ['base64 with a strange character', rootPem.replace(/\nM/, '\n*'), 'not_pem'],
  ['a key', leafKey, 'private_key_inside'],
  ['a certificate with its key', rootPem + leafKey, 'private_key_inside'],
  ['another kind of block', rootPem.replaceAll('CERTIFICATE', 'X509 CRL'), 'wrong_pem_type'],
  ['a trusted certificate', rootPem.replaceAll('CERTIFICATE', 'TRUSTED CERTIFICATE'), 'wrong_pem_type'],
  ['PEM headers', withHeaders, 'pem_headers'],
  ['two certificates', rootPem + middlePem, 'several'],
  ['a leaf', leafPem, 'not_ca'],
  [
    'bytes that are no certificate',
    '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
    'unparsable',
  ],
  ['bytes after the certificate', appended(rootPem), 'unparsable'],
  ['too much', rootPem + ' '.repeat(65 * 1024), 'too_big'],
]

function appended(pem: string): string {
  const der = Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64')
  const longer = Buffer.concat([der, Buffer.from('extra!')]).toString('base64')
  return `-----BEGIN CERTIFICATE-----\n${longer}\n-----END CERTIFICATE-----`
}

for (const [what, pem, code] of refusals) {
  test(`as an authority, ${what} is refused with ${code}`, () => {
    assert.throws(() => readCertificateAuthority(pem), refused(code, 'ca_pem'))
  })
}

test('a chain with its key shows every field of the leaf', () => {
  const facts = readTlsCertificate(leafPem + middlePem + rootPem, leafKey)

  const { not_before, not_after, ...rest } = facts
  assert.match(
    `${not_before} ${not_after}`,
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  )
  assert.deepEqual(rest, {
    certificate_pem: leafPem + middlePem + rootPem,
    subject_common_name: 'example.com',
    subject_organization: 'Example',
    subject_organizational_unit: 'Web',
    subject_locality: 'Munich',
    subject_province: 'Bavaria',
    subject_country: 'DE',
    subject_alternative_names: {
      dns_names: ['example.com', '*.example.com'],
      ips: ['192.0.2.7', '2001:db8::1'],
    },
    issuer_common_name: 'Middle',
    key_usages: ['digital_signature', 'key_encipherment'],
    extended_key_usages: ['server_auth', 'client_auth', '1.2.3.4'],
    private_key_type: 'rsa',
    serial_number: '0abc',
  })
})

const formats: [string, 'rsa' | 'ecdsa' | 'ed25519', (pem: string) => string][] = [
  ['RSA PKCS#8', 'rsa', (pem) => pem],
  ['RSA PKCS#1', 'rsa', () => openssl('rsa', '-in', 'own.key', '-traditional')],
  ['ECDSA PKCS#8', 'ecdsa', (pem) => pem],
  ['ECDSA SEC1', 'ecdsa', () => openssl('ec', '-in', 'own.key')],
  [
    'ECDSA SEC1 with its parameters',
    'ecdsa',
    () => openssl('ecparam', '-name', 'prime256v1') + openssl('ec', '-in', 'own.key'),
  ],
  ['Ed25519 PKCS#8', 'ed25519', (pem) => pem],
]

for (const [name, type, convert] of formats) {
  test(`a private key in the format ${name} is read`, () => {
    const key = makeKey('own', type)
    const pem = makeCertificate('own', '/CN=own', [])

    assert.equal(readTlsCertificate(pem, convert(key)).private_key_type, type)
  })
}

test('a certificate without subject and names has empty ones', () => {
  makeKey('own', 'ecdsa')
  const pem = makeCertificate('own', '/', [])

  const facts = readTlsCertificate(pem, readFileSync(path('own.key'), 'utf8'))

  assert.equal(facts.subject_common_name + facts.issuer_common_name + facts.subject_country, '')
  assert.deepEqual(facts.subject_alternative_names, { dns_names: [], ips: [] })
})

test('pairs that no server could serve are refused, each with its reason', () => {
  const other = makeKey('other', 'ecdsa')
  const encrypted = openssl('pkey', '-in', 'leaf.key', '-aes256', '-passout', 'pass:abcd')
  const legacy = openssl('rsa', '-in', 'leaf.key', '-aes256', '-traditional', '-passout', 'pass:abcd')
  const ofKind = (kind: keyof typeof keyArguments) => {
    const key = makeKey(kind, kind)
    return [makeCertificate(kind, `/CN=${kind}`, []), key] as const
  }

  const cases: [string, string, CertificateProblemCode][] = [
    [leafPem, other, 'key_mismatch'],
    [leafKey, leafPem, 'swapped'],
    [leafKey, leafKey, 'certificate_is_key'],
    [leafPem, leafPem, 'key_is_certificate'],
    [leafPem + leafKey, leafKey, 'private_key_inside'],
    [leafPem, encrypted, 'key_encrypted'],
    [leafPem, legacy, 'key_encrypted'],
    [leafPem, leafKey + other, 'several'],
    [leafPem, leafKey.replaceAll('PRIVATE KEY', 'PUBLIC KEY'), 'wrong_pem_type'],
    [leafPem, leafKey.replaceAll('PRIVATE KEY', 'OPENSSH PRIVATE KEY'), 'wrong_pem_type'],
    [leafPem, leafKey.replace(/\nM.*\n/, '\n'), 'unparsable'],
    [leafPem + rootPem, leafKey, 'chain_broken'],
    [leafPem + rootPem + middlePem, leafKey, 'chain_broken'],
    [middlePem + leafPem, readFileSync(path('middle.key'), 'utf8'), 'chain_broken'],
    [leafPem.repeat(21), leafKey, 'too_many'],
    ['', leafKey, 'empty'],
    [leafPem, '', 'empty'],
    [...ofKind('weak'), 'key_unsupported'],
    [...ofKind('koblitz'), 'key_unsupported'],
    [...ofKind('ed448'), 'key_unsupported'],
  ]

  for (const [certificate, key, code] of cases) {
    assert.throws(() => readTlsCertificate(certificate, key), refused(code), code)
  }
})

test('a chain whose names fit but whose signature is from elsewhere is refused', () => {
  makeKey('twin', 'ecdsa')
  const twin = makeCertificate('twin', '/CN=Middle', CA)

  assert.throws(() => readTlsCertificate(leafPem + twin, leafKey), refused('chain_broken'))
})

test('names with control characters are refused, so that they reach neither pages nor databases', () => {
  makeKey('own', 'ecdsa')
  const pem = makeCertificate('own', '/CN=a\nb', CA)

  assert.throws(() => readCertificateAuthority(pem), refused('unparsable'))
})

test('2,000 damaged uploads are refused or read, and nothing else happens', (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const der = Buffer.from(leafPem.replace(/-----[^-]+-----/g, ''), 'base64')
  const asPem = (bytes: Buffer) =>
    `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64')}\n-----END CERTIFICATE-----\n`
  let refusals = 0

  for (const round of rounds(2000)) {
    const attempts = [
      () => readCertificateAuthority(mutate(random, Buffer.from(rootPem)).toString('latin1')),
      () =>
        readCertificateAuthority(
          asPem(mutate(random, Buffer.from(rootPem.split('\n').slice(1, -2).join(''), 'base64'))),
        ),
      () => readTlsCertificate(asPem(mutate(random, der)) + middlePem, leafKey),
      () => readTlsCertificate(leafPem, mutate(random, Buffer.from(leafKey)).toString('latin1')),
    ]
    try {
      random.pick(attempts)()
    } catch (error) {
      assert.ok(
        error instanceof CertificateProblem,
        `round ${round}: ${error instanceof Error ? error.stack : error}`,
      )
      refusals++
    }
  }

  assert.ok(refusals > 1000, `only ${refusals} were refused`)
})
