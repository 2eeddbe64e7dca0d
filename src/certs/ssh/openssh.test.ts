import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { findFreePorts } from '../../../test/support/free-ports.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createSshAuthority, type SshAuthorityKeys } from './authority.ts'
import { type SshCertificateRequest, signSshCertificate } from './certificate.ts'
import { parseSshPublicKey } from './public-key.ts'

const run = promisify(execFile)
const SSHD = '/usr/sbin/sshd'
const reason = !existsSync(SSHD)
  ? 'there is no sshd here (Debian package openssh-server)'
  : userInfo().uid !== 0 && 'sshd takes logins only when started by root'
const HOUR = 60 * 60 * 1000
const user = userInfo().username

interface Server {
  /** Logs in with a certificate and runs a command. Returns its output, or undefined when rejected. */
  login(certificate: string, command?: string): Promise<string | undefined>
}

async function startSshd(t: TestContext, authorityKey: string): Promise<Server> {
  const folder = createTempDir()
  chmodSync(folder, 0o700)
  mkdirSync('/run/sshd', { recursive: true })
  const path = (name: string) => join(folder, name)
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path('host')])
  writeFileSync(path('ca.pub'), `${authorityKey}\n`)
  writeFileSync(path('id'), clientKey.privateKey, { mode: 0o600 })
  writeFileSync(path('id.pub'), clientKey.publicKey)
  const port = await findFreePorts(1)
  writeFileSync(
    path('sshd_config'),
    [
      `ListenAddress 127.0.0.1:${port}`,
      `HostKey ${path('host')}`,
      `TrustedUserCAKeys ${path('ca.pub')}`,
      'AuthorizedKeysFile none',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'PermitRootLogin yes',
      'UsePAM no',
      'PidFile none',
      'StrictModes no',
    ].join('\n'),
  )
  const server = spawn(SSHD, ['-D', '-e', '-f', path('sshd_config')], { stdio: ['ignore', 'ignore', 'pipe'] })
  t.after(async () => {
    server.kill()
    if (server.exitCode === null) await once(server, 'exit')
  })
  await listening(server.stderr)
  // Drained, so that further output does not fill the pipe.
  server.stderr.resume()

  return {
    async login(certificate, command = 'echo hello') {
      writeFileSync(path('id-cert.pub'), `${certificate}\n`)
      const options = [
        'BatchMode=yes',
        'StrictHostKeyChecking=no',
        'UserKnownHostsFile=/dev/null',
        'LogLevel=ERROR',
      ]
      const flags = [
        ...options,
        'IdentitiesOnly=yes',
        'IdentityAgent=none',
        `CertificateFile=${path('id-cert.pub')}`,
      ]
      const args = [
        '-F',
        'none',
        '-p',
        String(port),
        '-i',
        path('id'),
        ...flags.flatMap((flag) => ['-o', flag]),
      ]
      try {
        return (await run('ssh', [...args, `${user}@127.0.0.1`, command])).stdout.trim()
      } catch (error) {
        if ((error as { code?: number }).code === 255) return undefined
        throw error
      }
    },
  }
}

async function listening(output: Readable): Promise<void> {
  let text = ''
  for await (const chunk of output.iterator({ destroyOnReturn: false })) {
    text += chunk
    if (text.includes('Server listening')) return
  }
  throw new Error(`sshd did not start: ${text}`)
}

const clientKey = reason ? { privateKey: '', publicKey: '' } : makeClientKey()

function makeClientKey() {
  const folder = createTempDir()
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, 'id')])
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  const pair = { privateKey: read('id'), publicKey: read('id.pub') }
  return pair
}

function certificate(
  authority: SshAuthorityKeys,
  changes: Partial<SshCertificateRequest> = {},
): Promise<string> {
  return signSshCertificate({
    kind: 'user',
    publicKey: parseSshPublicKey(clientKey.publicKey),
    authorityKey: authority.privateKeyPem,
    serial: 1n,
    id: 'sucrt_login',
    principals: [user],
    validAfter: Date.now() - HOUR,
    validUntil: Date.now() + HOUR,
    ...changes,
  })
}

for (const type of ['ed25519', 'ecdsa', 'rsa']) {
  test(`a real sshd accepts a certificate of its ${type} authority`, {
    skip: reason,
  }, async (t) => {
    const authority = await createSshAuthority({ private_key_type: type })
    const server = await startSshd(t, authority.publicKey)

    assert.equal(await server.login(await certificate(authority)), 'hello')
  })
}

test('a real sshd enforces the options of a certificate', { skip: reason }, async (t) => {
  const [authority, stranger] = [await createSshAuthority(), await createSshAuthority()]
  const server = await startSshd(t, authority.publicKey)
  const now = Date.now()
  const cases: [string, Partial<SshCertificateRequest>, string | undefined][] = [
    ['several principals, one of them right', { principals: ['nobody-else', user] }, 'hello'],
    ['another principal', { principals: ['nobody-else'] }, undefined],
    ['no principals, which sshd takes for nobody', { principals: [] }, undefined],
    ['expired', { validAfter: now - 2 * HOUR, validUntil: now - HOUR }, undefined],
    ['not valid yet', { validAfter: now + HOUR, validUntil: now + 2 * HOUR }, undefined],
    [
      'from an allowed address',
      { criticalOptions: { 'source-address': '192.0.2.0/24,127.0.0.0/8' } },
      'hello',
    ],
    ['from another address', { criticalOptions: { 'source-address': '192.0.2.0/24' } }, undefined],
    ['a forced command', { criticalOptions: { 'force-command': 'echo forced' } }, 'forced'],
    ['an extension nobody knows', { extensions: { 'login@example.com': 'x', 'permit-pty': '' } }, 'hello'],
    ['a host certificate', { kind: 'host' }, undefined],
    ['an authority nobody trusts', { authorityKey: stranger.privateKeyPem }, undefined],
    [
      'both options at once',
      { criticalOptions: { 'source-address': '127.0.0.1', 'force-command': 'echo both' } },
      'both',
    ],
  ]

  for (const [what, changes, expected] of cases) {
    assert.equal(await server.login(await certificate(authority, changes)), expected, what)
  }
})
