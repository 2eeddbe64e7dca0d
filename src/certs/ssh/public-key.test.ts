import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createRandom, mutate, rounds } from '../../../test/support/random.ts'
import { CertificateProblem, type CertificateProblemCode } from '../problem.ts'
import { createSshAuthority, formatSshPublicKey } from './authority.ts'
import { parseSshPublicKey, toSshBlob } from './public-key.ts'
import { wireInteger, wireString } from './wire.ts'

const folder = mkdtempSync(join(tmpdir(), 'adit-sshkey-'))
after(() => rmSync(folder, { recursive: true }))
const sshKeygen = (...args: string[]) =>
  execFileSync('ssh-keygen', args, { cwd: folder, stdio: 'pipe' }).toString()

function keygen(type: string, bits: string): string {
  const name = `${type}-${bits}`
  sshKeygen('-q', '-t', type, '-b', bits, '-N', '', '-C', 'me@home two', '-f', name)
  return readFileSync(join(folder, `${name}.pub`), 'utf8')
}

const made: [string, string, string][] = [
  ['ed25519', '256', 'ed25519'],
  ['rsa', '2048', 'rsa'],
  ['rsa', '3072', 'rsa'],
  ['ecdsa', '256', 'ecdsa'],
  ['ecdsa', '384', 'ecdsa'],
  ['ecdsa', '521', 'ecdsa'],
]

for (const [type, bits, keyType] of made) {
  test(`a ${type} key of ${bits} bits made by ssh-keygen is read`, () => {
    const line = keygen(type, bits)

    const key = parseSshPublicKey(line)

    assert.equal(key.keyType, keyType)
    assert.equal(key.bits, Number(bits))
    assert.equal(key.comment, 'me@home two')
    assert.equal(`${key.text} ${key.comment}\n`, line)
    const shown = sshKeygen('-l', '-f', `${type}-${bits}.pub`)
    assert.equal(shown.split(' ')[1], key.fingerprint)
  })
}

const requests = [
  [{}, 'ED25519', '256'],
  [{ private_key_type: 'ed25519' }, 'ED25519', '256'],
  [{ private_key_type: 'rsa' }, 'RSA', '2048'],
  [{ private_key_type: 'rsa', key_size: 4096 }, 'RSA', '4096'],
  [{ private_key_type: 'ecdsa' }, 'ECDSA', '256'],
  [{ private_key_type: 'ecdsa', elliptic_curve: 'p384' }, 'ECDSA', '384'],
  [{ private_key_type: 'ecdsa', elliptic_curve: 'p521' }, 'ECDSA', '521'],
] as const

for (const [request, type, bits] of requests) {
  test(`an authority asked for as ${JSON.stringify(request)} has a key ssh-keygen knows`, async () => {
    const authority = await createSshAuthority(request)

    assert.equal(authority.publicKey.split(' ').length, 2)
    writeFileSync(join(folder, 'authority.pub'), `${authority.publicKey}\n`)
    const shown = sshKeygen('-l', '-f', 'authority.pub').trim()
    assert.ok(shown.startsWith(`${bits} ${parseSshPublicKey(authority.publicKey).fingerprint} `), shown)
    assert.ok(shown.endsWith(`(${type})`), shown)
  })
}

test('an authority that cannot be made says which field is wrong', async () => {
  const cases: [Parameters<typeof createSshAuthority>[0], CertificateProblemCode, string][] = [
    [{ private_key_type: 'dsa' }, 'authority_key_type', 'private_key_type'],
    [{ private_key_type: 'rsa', key_size: 1024 }, 'authority_key_size', 'key_size'],
    [{ private_key_type: 'rsa', key_size: 3072 }, 'authority_key_size', 'key_size'],
    [{ private_key_type: 'ed25519', key_size: 2048 }, 'authority_key_size_misplaced', 'key_size'],
    [{ private_key_type: 'rsa', elliptic_curve: 'p256' }, 'authority_curve_misplaced', 'elliptic_curve'],
    [{ private_key_type: 'ecdsa', elliptic_curve: 'constructor' }, 'authority_curve', 'elliptic_curve'],
  ]

  for (const [request, code, field] of cases) {
    await assert.rejects(createSshAuthority(request), (error) => {
      assert.ok(error instanceof CertificateProblem)
      assert.deepEqual([error.code, error.field], [code, field])
      return true
    })
  }
})

const good = formatSshPublicKey(toSshBlob(generateKeyPairSync('ed25519').publicKey))
const rsa = (bits: number) =>
  formatSshPublicKey(toSshBlob(generateKeyPairSync('rsa', { modulusLength: bits }).publicKey))
const text = (type: string, ...fields: Buffer[]) =>
  `${type} ${Buffer.concat([wireString(type), ...fields]).toString('base64')}`
const dsa = text('ssh-dss', ...Array.from({ length: 4 }, () => wireInteger(Buffer.alloc(20, 5))))
const modulus = Buffer.alloc(256, 0xff)

const refusals: [string, string, CertificateProblemCode][] = [
  ['nothing', ' \n', 'empty'],
  ['prose', 'hello there', 'not_ssh_key'],
  ['a DSA key', dsa, 'ssh_key_type'],
  ['a key of an unknown type', text('ssh-xmss@openssh.com', wireString('x')), 'ssh_key_type'],
  ['a key by a name of objects', 'constructor AAAA', 'ssh_key_type'],
  ['RSA of 1024 bits', rsa(1024), 'ssh_key_weak'],
  [
    'RSA of 2047 bits',
    text(
      'ssh-rsa',
      wireInteger(Buffer.of(3)),
      wireInteger(Buffer.concat([Buffer.of(0x7f), modulus.subarray(1)])),
    ),
    'ssh_key_weak',
  ],
  [
    'RSA of 20,000 bits',
    text('ssh-rsa', wireInteger(Buffer.of(3)), wireInteger(Buffer.alloc(2500, 0xff))),
    'ssh_key_large',
  ],
  ['RSA with the exponent 1', text('ssh-rsa', wireInteger(Buffer.of(1)), wireInteger(modulus)), 'unparsable'],
  [
    'RSA with an even exponent',
    text('ssh-rsa', wireInteger(Buffer.of(4)), wireInteger(modulus)),
    'unparsable',
  ],
  [
    'RSA with a negative modulus',
    text('ssh-rsa', wireInteger(Buffer.of(3)), wireString(modulus)),
    'unparsable',
  ],
  [
    'a point off its curve',
    text(
      'ecdsa-sha2-nistp256',
      wireString('nistp256'),
      wireString(Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)])),
    ),
    'unparsable',
  ],
  [
    'a point of another curve',
    text('ecdsa-sha2-nistp256', wireString('nistp384'), wireString(Buffer.alloc(97, 4))),
    'unparsable',
  ],
  ['a short Ed25519 key', text('ssh-ed25519', wireString(Buffer.alloc(31))), 'unparsable'],
  [
    'a key with bytes after it',
    `${text('ssh-ed25519', wireString(Buffer.alloc(32, 9)), wireString('x'))}`,
    'unparsable',
  ],
  ['two lines', `${good}\n${good}`, 'not_ssh_key'],
  ['options before the key', `command="ls",no-pty ${good}`, 'ssh_options'],
  ['a certificate', `ssh-ed25519-cert-v01@openssh.com ${good.split(' ')[1]}`, 'ssh_certificate_given'],
  ['a name that differs from the one inside', `ssh-rsa ${good.split(' ')[1]}`, 'not_ssh_key'],
  ['damaged base64', `ssh-ed25519 ${good.split(' ')[1]!.replace('A', '!')}`, 'not_ssh_key'],
  ['a name without a key', 'ssh-ed25519', 'not_ssh_key'],
  [
    'a private key',
    '-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----',
    'private_key_inside',
  ],
  ['a PEM public key', '-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----', 'not_ssh_key'],
  ['too much', `${good} ${'x'.repeat(17_000)}`, 'too_big'],
]

for (const [what, line, code] of refusals) {
  test(`${what} is refused with ${code}`, () => {
    assert.throws(
      () => parseSshPublicKey(line),
      (error) => {
        assert.ok(error instanceof CertificateProblem, String(error))
        assert.equal(error.code, code)
        return true
      },
    )
  })
}

test('2,000 damaged keys are refused or read, and nothing else happens', (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const ec = formatSshPublicKey(toSshBlob(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey))
  const lines = [good, rsa(2048), ec]
  let refused = 0

  for (const round of rounds(2000)) {
    const [type, base64] = random.pick(lines).split(' ')
    const damaged = random.below(2)
      ? mutate(random, Buffer.from(`${type} ${base64}`)).toString('latin1')
      : `${type} ${mutate(random, Buffer.from(base64!, 'base64')).toString('base64')}`
    try {
      const key = parseSshPublicKey(damaged)
      assert.equal(parseSshPublicKey(key.text).fingerprint, key.fingerprint)
    } catch (error) {
      assert.ok(
        error instanceof CertificateProblem,
        `round ${round}: ${error instanceof Error ? error.stack : error}`,
      )
      refused++
    }
  }

  assert.ok(refused > 1000, `only ${refused} were refused`)
})
