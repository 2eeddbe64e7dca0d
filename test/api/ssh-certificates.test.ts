import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { shareApi } from '../support/api.ts'
import { assertRejected } from '../support/assert-rejected.ts'
import type { Body } from '../support/samples.ts'
import { generateSshPublicKey } from '../support/ssh-keys.ts'
import { createTempDir } from '../support/temp-dir.ts'

const { fresh } = await shareApi()

/** The fields of a certificate as `ssh-keygen -L` prints them. */
interface ParsedCertificate {
  type: string
  publicKey: string
  signingKey: string
  keyId: string
  valid: string
  principals: string[]
  criticalOptions: string[]
  extensions: string[]
}

function keygen(...args: string[]): string {
  return execFileSync('ssh-keygen', args, { encoding: 'utf8', env: { ...process.env, TZ: 'UTC' } })
}

function readList(text: string, heading: string): string[] {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => line.trim().startsWith(heading))
  const items: string[] = []
  for (const line of lines.slice(start + 1)) {
    if (!/^ {16}/.test(line)) break
    items.push(line.trim())
  }
  return items
}

async function start() {
  const api = await fresh()
  const dir = createTempDir()
  const file = join(dir, 'certificate.pub')
  const write = (text: string) => {
    writeFileSync(file, `${text}\n`)
    return file
  }
  return {
    api,
    fingerprint: (publicKey: string) => keygen('-l', '-f', write(publicKey)).split(' ')[1]!,
    read(certificate: string): ParsedCertificate {
      const text = keygen('-L', '-f', write(certificate))
      const line = (heading: string) => new RegExp(`${heading}: (.*)`).exec(text)?.[1] ?? ''
      return {
        type: line('Type'),
        publicKey: line('Public key').split(' ')[1]!,
        signingKey: line('Signing CA').split(' ')[1]!,
        keyId: line('Key ID').replaceAll('"', ''),
        valid: line('Valid'),
        principals: readList(text, 'Principals'),
        criticalOptions: readList(text, 'Critical Options'),
        extensions: readList(text, 'Extensions'),
      }
    },
  }
}

const stripZone = (time: string) => time.replace('Z', '')

test('authorities have the requested key type, ed25519 by default', async () => {
  const { api, fingerprint } = await start()
  for (const [body, type, prefix] of [
    [{}, 'ed25519', /^ssh-ed25519 /],
    [{ private_key_type: 'ed25519' }, 'ed25519', /^ssh-ed25519 /],
    [{ private_key_type: 'rsa' }, 'rsa', /^ssh-rsa /],
    [{ private_key_type: 'rsa', key_size: 2048 }, 'rsa', /^ssh-rsa /],
    [{ private_key_type: 'rsa', key_size: 4096 }, 'rsa', /^ssh-rsa /],
    [{ private_key_type: 'ecdsa' }, 'ecdsa', /^ecdsa-sha2-nistp256 /],
    [{ private_key_type: 'ecdsa', elliptic_curve: 'p256' }, 'ecdsa', /^ecdsa-sha2-nistp256 /],
    [{ private_key_type: 'ecdsa', elliptic_curve: 'p384' }, 'ecdsa', /^ecdsa-sha2-nistp384 /],
    [{ private_key_type: 'ecdsa', elliptic_curve: 'p521' }, 'ecdsa', /^ecdsa-sha2-nistp521 /],
  ] as const) {
    const created = await api.call.create('/ssh_certificate_authorities', body)

    assert.equal(created.key_type, type)
    assert.match(created.public_key, prefix)
    assert.match(fingerprint(created.public_key), /^SHA256:/)
    assert.ok(!JSON.stringify(created).includes('PRIVATE'))
  }
  for (const [body, field] of [
    [{ private_key_type: 'dsa' }, 'private_key_type'],
    [{ private_key_type: 'rsa', key_size: 1024 }, 'key_size'],
    [{ private_key_type: 'rsa', key_size: 3072 }, 'key_size'],
    [{ private_key_type: 'ecdsa', elliptic_curve: 'p192' }, 'elliptic_curve'],
    [{ private_key_type: 'rsa', elliptic_curve: 'p256' }, 'elliptic_curve'],
    [{ private_key_type: 'ecdsa', key_size: 2048 }, 'key_size'],
  ] as const)
    await assertRejected(api, () => api.call('POST', '/ssh_certificate_authorities', { body }), {
      status: 400,
      field,
      what: JSON.stringify(body),
    })
})

test('ssh-keygen reads the requested fields from a user certificate', async () => {
  const { api, read, fingerprint } = await start()
  const authorities: Body[] = []
  for (const private_key_type of ['ed25519', 'ecdsa', 'rsa'])
    authorities.push(await api.call.create('/ssh_certificate_authorities', { private_key_type }))
  for (const authority of authorities)
    for (const kind of ['ed25519', 'p256', 'p384', 'p521', 'rsa'] as const) {
      const public_key = generateSshPublicKey(kind)

      const created = await api.call.create('/ssh_user_certificates', {
        ssh_certificate_authority_id: authority.id,
        public_key,
        principals: ['root', 'deploy'],
        critical_options: { 'source-address': '10.0.0.0/8,192.0.2.1', 'force-command': '/bin/date -u' },
        extensions: { 'permit-port-forwarding': '', 'permit-X11-forwarding': '' },
        valid_after: '2026-01-02T03:04:05+01:00',
        valid_until: '2027-01-02T03:04:05Z',
      })

      const certificate = read(created.certificate)
      assert.match(certificate.type, /user certificate/)
      assert.equal(certificate.publicKey, fingerprint(public_key).trim())
      assert.equal(certificate.signingKey, fingerprint(authority.public_key as string))
      assert.equal(certificate.keyId, created.id)
      assert.deepEqual(certificate.principals, ['root', 'deploy'])
      assert.deepEqual(certificate.criticalOptions, [
        'force-command /bin/date -u',
        'source-address 10.0.0.0/8,192.0.2.1',
      ])
      assert.deepEqual(certificate.extensions, ['permit-X11-forwarding', 'permit-port-forwarding'])
      assert.equal(certificate.valid, 'from 2026-01-02T02:04:05 to 2027-01-02T03:04:05')
      assert.equal(created.valid_after, '2026-01-02T02:04:05Z')
      assert.equal(created.key_type, kind === 'rsa' || kind === 'ed25519' ? kind : 'ecdsa')
      assert.equal(created.public_key, public_key)
      assert.deepEqual((await api.call('GET', `/ssh_user_certificates/${created.id}`)).body, created)
    }
})

test('a user certificate is by default valid for one day and permits a terminal and the user rc file', async () => {
  const { api, read } = await start()
  const authority = await api.call.create('/ssh_certificate_authorities', {})
  const body = { ssh_certificate_authority_id: authority.id, public_key: generateSshPublicKey() }
  const now = Date.now()

  const created = await api.call.create('/ssh_user_certificates', body)

  assert.ok(Math.abs(Date.parse(created.valid_after) - now) < 5000)
  assert.equal(Date.parse(created.valid_until) - Date.parse(created.valid_after), 86_400_000)
  assert.deepEqual(created.extensions, { 'permit-pty': '', 'permit-user-rc': '' })
  assert.deepEqual([created.principals, created.critical_options], [[], {}])
  const certificate = read(created.certificate)
  assert.deepEqual(certificate.extensions, ['permit-pty', 'permit-user-rc'])
  assert.deepEqual(
    certificate.principals,
    ['(none)'].filter(() => certificate.principals.length > 0),
  )
  assert.equal(
    certificate.valid,
    `from ${stripZone(created.valid_after)} to ${stripZone(created.valid_until)}`,
  )
  const withoutExtensions = await api.call.create('/ssh_user_certificates', { ...body, extensions: {} })
  assert.deepEqual(withoutExtensions.extensions, {})
  assert.deepEqual(read(withoutExtensions.certificate).extensions, [])
})

test('a host certificate is valid for one year and carries no options', async () => {
  const { api, read } = await start()
  const authority = await api.call.create('/ssh_certificate_authorities', { private_key_type: 'rsa' })

  const created = await api.call.create('/ssh_host_certificates', {
    ssh_certificate_authority_id: authority.id,
    public_key: generateSshPublicKey('p256'),
    principals: ['host.example.com', '192.0.2.1'],
  })

  const certificate = read(created.certificate)
  assert.match(certificate.type, /host certificate/)
  assert.deepEqual(certificate.principals, ['host.example.com', '192.0.2.1'])
  assert.deepEqual([certificate.criticalOptions, certificate.extensions], [[], []])
  assert.equal(Date.parse(created.valid_until) - Date.parse(created.valid_after), 365 * 86_400_000)
})

test('certificates that no server would accept are not signed', async () => {
  const { api } = await start()
  const authority = await api.call.create('/ssh_certificate_authorities', {})
  const body = { ssh_certificate_authority_id: authority.id, public_key: generateSshPublicKey() }
  for (const [field, overrides] of [
    ['public_key', { public_key: generateSshPublicKey('rsa1024') }],
    ['public_key', { public_key: 'ssh-dss AAAAB3NzaC1kc3M=' }],
    ['public_key', { public_key: `no-pty ${generateSshPublicKey()}` }],
    ['critical_options', { critical_options: { 'verify-required': '' } }],
    ['critical_options', { critical_options: { 'source-address': 'everywhere' } }],
    ['critical_options', { critical_options: { 'force-command': 'a\nb' } }],
    ['valid_until', { valid_after: '2030-01-01T00:00:00Z', valid_until: '2030-01-01T00:00:00Z' }],
    ['valid_until', { valid_until: '2020-01-01T00:00:00Z' }],
  ] as const)
    await assertRejected(
      api,
      () => api.call('POST', '/ssh_user_certificates', { body: { ...body, ...overrides } }),
      {
        status: 400,
        field,
        what: JSON.stringify(overrides),
      },
    )
  const certificate = await api.call.create('/ssh_user_certificates', body)
  await assertRejected(api, () => api.call('DELETE', `/ssh_certificate_authorities/${authority.id}`), {
    status: 409,
    what: 'an authority with certificates',
  })
  assert.equal((await api.call('DELETE', `/ssh_user_certificates/${certificate.id}`)).status, 204)
  assert.equal((await api.call('DELETE', `/ssh_certificate_authorities/${authority.id}`)).status, 204)
})
