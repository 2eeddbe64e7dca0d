import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findFreePorts } from '../support/free-ports.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createNoise, digestOf } from './noise.ts'
import { assertSameUse } from './same-use.ts'

/** sshd refuses to start without it as root; its service creates it. */
const PRIVILEGE_SEPARATION_DIR = '/run/sshd'

test('scp: 50 MB and a tree of files in both directions, and a command with input, output and status', {
  skip: missingPrograms('scp', 'sshd'),
}, async (t) => {
  const keys = createTempDir()
  for (const name of ['host', 'user'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(keys, name)])
  writeFileSync(join(keys, 'known_hosts'), `service ${readFileSync(join(keys, 'host.pub'), 'utf8')}`)
  if (process.getuid?.() === 0) mkdirSync(PRIVILEGE_SEPARATION_DIR, { recursive: true })
  const clientOptions = {
    ...{ IdentityFile: join(keys, 'user'), IdentitiesOnly: 'yes', BatchMode: 'yes' },
    ...{ UserKnownHostsFile: join(keys, 'known_hosts'), HostKeyAlias: 'service', LogLevel: 'ERROR' },
  }
  const seen = await assertSameUse(
    t,
    async () => {
      const port = await findFreePorts(1)
      const settings = {
        ...{ Port: port, ListenAddress: '127.0.0.1', HostKey: join(keys, 'host'), PidFile: 'none' },
        ...{ AuthorizedKeysFile: join(keys, 'user.pub'), StrictModes: 'no', UsePAM: 'no' },
        ...{ PermitRootLogin: 'prohibit-password', Subsystem: 'sftp internal-sftp' },
      }
      const file = join(createTempDir(), 'sshd_config')
      writeFileSync(
        file,
        Object.entries(settings)
          .map(([name, value]) => `${name} ${value}\n`)
          .join(''),
      )
      await startServiceProgram(t, ['/usr/sbin/sshd', '-D', '-e', '-f', file], { port })
      return port
    },
    async ({ host, port, dir, run }) => {
      const options = Object.entries({ ...clientOptions, Port: port }).map(
        ([name, value]) => `-o${name}=${value}`,
      )
      const remote = `${userInfo().username}@${host}`
      const at = (path: string) => `${remote}:${join(dir, path)}`
      writeFileSync(join(dir, 'large'), createNoise(50_000_000))
      mkdirSync(join(dir, 'tree', 'below'), { recursive: true })
      for (let index = 0; index < 50; index++)
        writeFileSync(join(dir, 'tree', 'below', `file ${index}`), createNoise(index * 100))

      await run(['scp', '-q', ...options, join(dir, 'large'), at('large.sent')])
      await run(['scp', '-q', ...options, at('large'), 'large.fetched'])
      await run(['scp', '-qrp', ...options, join(dir, 'tree'), at('tree.sent')])
      await run(['scp', '-qr', ...options, at('tree.sent'), 'tree.fetched'])
      return {
        sent: digestOf(join(dir, 'large.sent')),
        fetched: digestOf(join(dir, 'large.fetched')),
        differences: await run(['diff', '-r', 'tree', 'tree.fetched']),
        command: await run([
          'sh',
          ...['-c', 'ssh "$@" < large; echo "status $?"', 'sh', ...options, remote],
          'sha256sum; echo failed >&2; exit 3',
        ]),
      }
    },
    { proto: 'tcp' },
  )
  assert.equal(seen?.fetched, seen?.sent)
  assert.match(seen?.command ?? '', /status 3\n$/)
})
