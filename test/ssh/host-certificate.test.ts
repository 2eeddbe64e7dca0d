import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startServer } from '../../src/server/index.ts'
import { readSettings } from '../../src/server/settings/settings.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createIdentity, openSshSkipReason, readUrl, startSsh, tempFile } from './openssh.ts'

const skip = openSshSkipReason

for (const type of ['ed25519', 'ecdsa', 'rsa']) {
  test(`a client that trusts the ${type} authority connects without a host key prompt`, {
    skip,
  }, async (t) => {
    const dataDir = createTempDir()
    const first = await startPlatform(t, ['--data-dir', dataDir])
    const authority = await first.call.create('/ssh_certificate_authorities', { private_key_type: type })
    await first.stop()
    const platform = await startPlatform(t, ['--data-dir', dataDir, '--ssh-host-ca', authority.id])
    const identity = await createIdentity(platform)
    const port = await startHttp(t, (_request, response) => response.end('certified'))
    const knownHosts = await tempFile('known_hosts', `@cert-authority * ${authority.public_key}\n`)
    const hostKeyFlags = ['-o', 'StrictHostKeyChecking=yes', '-o', `UserKnownHostsFile=${knownHosts}`]

    // Rekeys after a few bytes, so that the certificate is presented more than once.
    const client = startSsh(t, platform, identity, [
      ...hostKeyFlags,
      '-v',
      '-o',
      'RekeyLimit=64K',
      '-R',
      `80:127.0.0.1:${port}`,
    ])
    const url = await readUrl(client)
    for (let n = 0; n < 5; n++)
      assert.equal(
        await (await platform.fetch(url, { method: 'POST', body: 'x'.repeat(50_000) })).text(),
        'certified',
      )

    assert.match(client.output(), /Server host certificate: ssh-ed25519-cert-v01@openssh\.com/)
    assert.match(client.output(), /rekey/i)
  })
}

test('a client that trusts another authority does not connect', { skip }, async (t) => {
  const dataDir = createTempDir()
  const first = await startPlatform(t, ['--data-dir', dataDir])
  const authority = await first.call.create('/ssh_certificate_authorities', {})
  const other = await first.call.create('/ssh_certificate_authorities', {})
  await first.stop()
  const platform = await startPlatform(t, ['--data-dir', dataDir, '--ssh-host-ca', authority.id])
  const identity = await createIdentity(platform)
  const knownHosts = await tempFile('known_hosts', `@cert-authority * ${other.public_key}\n`)

  const client = startSsh(t, platform, identity, [
    ...['-o', 'StrictHostKeyChecking=yes', '-o', `UserKnownHostsFile=${knownHosts}`],
  ])

  assert.equal(await client.waitForExit(), 255)
  assert.match(client.output(), /Host key verification failed/)
})

test('an unknown host certificate authority fails the start with an error message', async () => {
  const dataDir = createTempDir()
  const addresses = ['api', 'http', 'https', 'agent', 'ssh', 'dns'].flatMap((name) => [
    `--${name}-addr`,
    'false',
  ])

  const start = startServer(
    readSettings(
      ['--data-dir', dataDir, ...addresses, '--ssh-host-ca', 'sshca_none', '--log-level', 'silent'],
      {},
    ),
  )

  await assert.rejects(start, /--ssh-host-ca: there is no SSH certificate authority with the id "sshca_none"/)
})
