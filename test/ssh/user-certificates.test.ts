import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createIdentity, openSshSkipReason, sshArgs } from './openssh.ts'

const skip = openSshSkipReason
const run = promisify(execFile)

async function createKey(): Promise<{ keyFile: string; publicKey: string }> {
  const keyFile = join(createTempDir(), 'id')
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', keyFile])
  return { keyFile, publicKey: (await readFile(`${keyFile}.pub`, 'utf8')).trim() }
}

/** Runs `ssh` with this key and certificate and returns the output. */
async function logIn(platform: TestPlatform, keyFile: string, certificate: string): Promise<string> {
  const file = join(createTempDir(), 'id-cert.pub')
  await writeFile(file, `${certificate}\n`)
  const args = ['-o', `CertificateFile=${file}`, ...sshArgs(platform, { keyFile })]
  try {
    const { stdout, stderr } = await run('ssh', args, { timeout: 60_000 })
    return stdout + stderr
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    return stdout + stderr
  }
}

test('no SSH certificate can log in to the gateway: only stored keys can', {
  skip,
}, async (t) => {
  const platform = await startPlatform(t)
  const { keyFile, publicKey } = await createKey()
  const authority = await platform.call.create('/ssh_certificate_authorities', {})
  const request = { ssh_certificate_authority_id: authority.id, public_key: publicKey }
  const user = await platform.call.create('/ssh_user_certificates', { ...request, principals: ['anyone'] })
  const host = await platform.call.create('/ssh_host_certificates', { ...request, principals: ['anyone'] })
  const selfKey = await createKey()
  execFileSync('ssh-keygen', ['-q', '-s', selfKey.keyFile, '-I', 'self', '-n', 'anyone', `${keyFile}.pub`])
  const selfSigned = await readFile(`${keyFile}-cert.pub`, 'utf8')

  for (const certificate of [user.certificate, host.certificate, selfSigned.trim()])
    assert.match(await logIn(platform, keyFile, certificate), /Permission denied|Connection (closed|reset)/)
  assert.deepEqual((await platform.call('GET', '/tunnel_sessions')).body.tunnel_sessions, [])
})

test('storing the key of an authority does not let its certificates log in', {
  skip,
}, async (t) => {
  const platform = await startPlatform(t)
  const authority = await createIdentity(platform)
  const { keyFile } = await createKey()
  execFileSync('ssh-keygen', ['-q', '-s', authority.keyFile, '-I', 'x', '-n', 'anyone', `${keyFile}.pub`])
  const certificate = (await readFile(`${keyFile}-cert.pub`, 'utf8')).trim()

  const response = await platform.call('POST', '/ssh_credentials', { body: { public_key: certificate } })

  assert.match(await logIn(platform, keyFile, certificate), /Permission denied/)
  assert.equal(response.status, 400)
  assert.match(response.body.msg, /certificate/)
})
