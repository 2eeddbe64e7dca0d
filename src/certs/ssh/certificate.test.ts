import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { createRandom, type SeededRandom } from '../../../test/support/random.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { CertificateProblem, type CertificateProblemCode } from '../problem.ts'
import { createSshAuthority, type SshAuthorityKeys, type SshAuthorityRequest } from './authority.ts'
import { newSshSerial, type SshCertificateRequest, signSshCertificate } from './certificate.ts'
import { parseSshPublicKey, type SshPublicKey } from './public-key.ts'
import { wireString } from './wire.ts'

const folder = createTempDir()
const path = (name: string) => join(folder, name)
const sshKeygen = (...args: string[]) =>
  execFileSync('ssh-keygen', args, {
    cwd: folder,
    stdio: 'pipe',
    env: { ...process.env, TZ: 'UTC' },
  }).toString()

const authorityKinds: Record<string, SshAuthorityRequest> = {
  ed25519: {},
  'rsa-2048': { private_key_type: 'rsa' },
  'rsa-4096': { private_key_type: 'rsa', key_size: 4096 },
  'ecdsa-p256': { private_key_type: 'ecdsa' },
  'ecdsa-p384': { private_key_type: 'ecdsa', elliptic_curve: 'p384' },
  'ecdsa-p521': { private_key_type: 'ecdsa', elliptic_curve: 'p521' },
}
const subjectKinds = [
  ['ed25519', '256'],
  ['rsa', '2048'],
  ['rsa', '4096'],
  ['ecdsa', '256'],
  ['ecdsa', '384'],
  ['ecdsa', '521'],
] as const

const authorities: Record<string, SshAuthorityKeys> = {}
const subjects: Record<string, SshPublicKey> = {}

before(async () => {
  for (const [name, request] of Object.entries(authorityKinds))
    authorities[name] = await createSshAuthority(request)
  for (const [type, bits] of subjectKinds) {
    const name = `${type}-${bits}`
    sshKeygen('-q', '-t', type, '-b', bits, '-N', '', '-C', 'me@home', '-f', name)
    subjects[name] = parseSshPublicKey(readFileSync(path(`${name}.pub`), 'utf8'))
  }
})

/** The parsed output of `ssh-keygen -L`, which also verifies the signature. */
function list(certificate: string) {
  writeFileSync(path('listed-cert.pub'), `${certificate}\n`)
  const text = sshKeygen('-L', '-f', 'listed-cert.pub')
  const line = (name: string) => new RegExp(`^ {8}${name}: ?(.*)$`, 'm').exec(text)?.[1] ?? ''
  const section = (name: string) =>
    (new RegExp(`^ {8}${name}: ?\\n((?: {16}.*\\n)*)`, 'm').exec(text)?.[1] ?? '')
      .split('\n')
      .filter((entry) => entry !== '')
      .map((entry) => entry.slice(16))
  return {
    type: line('Type'),
    publicKey: line('Public key'),
    authority: line('Signing CA'),
    keyId: line('Key ID'),
    serial: line('Serial'),
    valid: line('Valid'),
    principals: section('Principals'),
    criticalOptions: section('Critical Options'),
    extensions: section('Extensions'),
  }
}

function request(changes: Partial<SshCertificateRequest> = {}): SshCertificateRequest {
  return {
    kind: 'user',
    publicKey: subjects['ed25519-256']!,
    authorityKey: authorities.ed25519!.privateKeyPem,
    serial: 7n,
    id: 'sucrt_test',
    principals: ['root'],
    validAfter: Date.UTC(2026, 0, 1),
    validUntil: Date.UTC(2026, 0, 2),
    ...changes,
  }
}

test('every kind of authority certifies every kind of key', async () => {
  const signatures: Record<string, string> = { ed25519: 'ssh-ed25519', rsa: 'rsa-sha2-512' }
  for (const [authorityName, authority] of Object.entries(authorities)) {
    for (const [subjectName, publicKey] of Object.entries(subjects)) {
      const text = await signSshCertificate(request({ publicKey, authorityKey: authority.privateKeyPem }))
      const listed = list(text)

      const where = `${subjectName} by ${authorityName}`
      assert.match(
        listed.type,
        new RegExp(`^${publicKey.algorithm}-cert-v01@openssh.com user certificate$`),
        where,
      )
      assert.ok(listed.publicKey.endsWith(publicKey.fingerprint), where)
      assert.ok(listed.authority.includes(parseSshPublicKey(authority.publicKey).fingerprint), where)
      const signature = signatures[authority.keyType] ?? authority.publicKey.split(' ')[0]!
      assert.ok(listed.authority.endsWith(`(using ${signature})`), `${where}: ${listed.authority}`)
    }
  }
})

test('ssh-keygen reads 200 random certificates exactly as requested', async (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)

  for (let round = 0; round < 200; round++) {
    const request = randomRequest(random)
    const listed = list(await signSshCertificate(request))

    const where = `SEED=${random.seed} round ${round}`
    assert.deepEqual(listed, expectedListing(request), where)
  }
})

function randomRequest(random: SeededRandom): SshCertificateRequest {
  const kind = random.pick(['user', 'user', 'host'] as const)
  const word = () =>
    Array.from({ length: 1 + random.below(20) }, () => random.pick([...'abcXYZ019.-_@ü*'])).join('')
  const some = <T>(limit: number, make: () => T) => Array.from({ length: random.below(limit) }, make)
  const start = random.below(2 ** 31) * 1000
  const criticalOptions: Record<string, string> = {}
  const extensions: Record<string, string> = {}
  if (kind === 'user') {
    if (random.below(2))
      criticalOptions['source-address'] = some(4, () => `10.${random.below(256)}.0.0/16`)
        .concat('2001:db8::/32')
        .join(',')
    if (random.below(2)) criticalOptions['force-command'] = `echo ${word()} "$PATH"`
    for (const flag of ['permit-pty', 'permit-user-rc', 'permit-X11-forwarding', 'permit-agent-forwarding'])
      if (random.below(2)) extensions[flag] = ''
    if (random.below(2)) extensions['login@example.com'] = word()
    if (random.below(2)) extensions['Zone@example.com'] = ''
  }
  return {
    kind,
    publicKey: random.pick(Object.values(subjects)),
    authorityKey: random.pick(Object.entries(authorities).filter(([name]) => name !== 'rsa-4096'))[1]
      .privateKeyPem,
    serial: BigInt(`0x${random.bytes(8).toString('hex')}`),
    id: `${kind === 'user' ? 'sucrt' : 'shcrt'}_${random.bytes(8).toString('hex')}`,
    principals: some(6, word),
    validAfter: start + random.below(1000),
    validUntil: start + (1 + random.below(2 ** 31)) * 1000 + random.below(1000),
    criticalOptions,
    extensions,
  }
}

function expectedListing(request: SshCertificateRequest) {
  const authority = Object.values(authorities).find((one) => one.privateKeyPem === request.authorityKey)!
  const using = authority.keyType === 'rsa' ? 'rsa-sha2-512' : authority.publicKey.split(' ')[0]
  const names = { rsa: 'RSA', ecdsa: 'ECDSA', ed25519: 'ED25519' }
  const time = (milliseconds: number) => new Date(milliseconds).toISOString().slice(0, 19)
  const byBytes = (a: [string, string], b: [string, string]) =>
    Buffer.compare(Buffer.from(a[0]), Buffer.from(b[0]))
  const entries = (map: Record<string, string>) => Object.entries(map).sort(byBytes)
  // ssh-keygen prints the values of unknown extensions as hex: the string inside the string.
  const unknown = (name: string, value: string) => {
    if (value === '') return `${name} UNKNOWN FLAG OPTION`
    const data = wireString(value)
    return `${name} UNKNOWN OPTION: ${data.toString('hex')} (len ${data.length})`
  }
  return {
    type: `${request.publicKey.algorithm}-cert-v01@openssh.com ${request.kind} certificate`,
    publicKey: `${names[request.publicKey.keyType]}-CERT ${request.publicKey.fingerprint}`,
    authority: `${names[authority.keyType]} ${parseSshPublicKey(authority.publicKey).fingerprint} (using ${using})`,
    keyId: `"${request.id}"`,
    serial: String(request.serial),
    valid: `from ${time(request.validAfter)} to ${time(request.validUntil)}`,
    principals: request.principals,
    criticalOptions: entries(request.criticalOptions ?? {}).map(([name, value]) => `${name} ${value}`),
    extensions: entries(request.extensions ?? {}).map(([name, value]) =>
      name.includes('@') ? unknown(name, value) : name,
    ),
  }
}

test('the text ends in the id, and two certificates for one request differ in their nonce', async () => {
  const [one, two] = [await signSshCertificate(request()), await signSshCertificate(request())]

  assert.match(one, /^ssh-ed25519-cert-v01@openssh\.com [A-Za-z0-9+/=]+ sucrt_test$/)
  assert.notEqual(one, two)
})

test('keys on security tokens are certified under their own algorithm name', async () => {
  const plain = subjects['ed25519-256']!.blob.subarray(4 + 'ssh-ed25519'.length)
  const blob = Buffer.concat([wireString('sk-ssh-ed25519@openssh.com'), plain, wireString('ssh:')])
  const publicKey = parseSshPublicKey(`sk-ssh-ed25519@openssh.com ${blob.toString('base64')} token`)

  const listed = list(await signSshCertificate(request({ publicKey })))

  assert.equal(publicKey.keyType, 'ed25519')
  assert.equal(listed.type, 'sk-ssh-ed25519-cert-v01@openssh.com user certificate')
})

const rejections: [string, Partial<SshCertificateRequest>, CertificateProblemCode][] = [
  ['an end equal to the start', { validUntil: Date.UTC(2026, 0, 1) + 999 }, 'validity'],
  ['an end before the start', { validUntil: 0 }, 'validity'],
  ['a start before 1970', { validAfter: -1 }, 'validity_range'],
  ['a start that is no time', { validAfter: Number.NaN }, 'validity_range'],
  ['an end after 9999', { validUntil: Date.UTC(10_000, 0) }, 'validity_range'],
  ['an empty principal', { principals: [''] }, 'principal'],
  ['a principal with a line end', { principals: ['a\nb'] }, 'principal'],
  ['257 principals', { principals: Array(257).fill('a') }, 'principals'],
  ['an unknown critical option', { criticalOptions: { 'verify-required': '' } }, 'critical_option'],
  ['a critical option by a name of objects', { criticalOptions: { constructor: 'x' } }, 'critical_option'],
  ['an empty command', { criticalOptions: { 'force-command': '' } }, 'force_command'],
  ['a command of two lines', { criticalOptions: { 'force-command': 'a\nb' } }, 'force_command'],
  ['an extension with a blank', { extensions: { 'permit pty': '' } }, 'extension'],
  ['an extension without a name', { extensions: { '': '' } }, 'extension'],
  ['a flag with a value', { extensions: { 'permit-pty': 'yes' } }, 'extension_value'],
  ['extensions for a host', { kind: 'host', extensions: { 'permit-pty': '' } }, 'host_options'],
  ...[
    '',
    '10.0.0.1/8',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0.0/ 8',
    '010.0.0.0/8',
    '10.0.0.0/8, 10.1.0.0/16',
    '10.0.0.0/8,',
    '10.0.0.0/255.0.0.0',
    '2001:db8::1/64',
    'fe80::%eth0/64',
    '::ffff:10.0.0.1/100',
    'example.com',
    '*',
  ].map((list): [string, Partial<SshCertificateRequest>, CertificateProblemCode] => [
    `the source address "${list}"`,
    { criticalOptions: { 'source-address': list } },
    'source_address',
  ]),
]

test('invalid requests are rejected, each with its reason', async () => {
  for (const [what, changes, code] of rejections) {
    await assert.rejects(
      signSshCertificate(request(changes)),
      (error) => error instanceof CertificateProblem && error.code === code,
      what,
    )
  }
})

test('source addresses in every valid form are accepted', async () => {
  const list4 = ['0.0.0.0/0', '10.0.0.0/8', '192.0.2.7', '192.0.2.7/32']
  const list6 = ['::/0', '2001:db8::/32', '2001:db8::1/128', '::1', '2001:DB8:1:2:3:4:5:6']

  const text = await signSshCertificate(
    request({ criticalOptions: { 'source-address': [...list4, ...list6].join(',') } }),
  )

  assert.deepEqual(list(text).criticalOptions, [`source-address ${[...list4, ...list6].join(',')}`])
})

test('1,000 serial numbers are all different', () => {
  assert.equal(new Set(Array.from({ length: 1000 }, newSshSerial)).size, 1000)
})
