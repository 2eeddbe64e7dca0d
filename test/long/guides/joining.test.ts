// A second machine, with nothing but Debian's base system and the tools that a line names, joins a server by each line that the
// dashboard shows for it.
import assert from 'node:assert/strict'
import { before, type TestContext, test } from 'node:test'
import type { PlatformInfo } from '../../../src/dashboard/page-data.ts'
import {
  joinCommand,
  otherInstallCommands,
  sshCommand,
} from '../../../src/web/dashboard/pages/install-commands.ts'
import type { DebianRoot } from '../../support/debian-root.ts'
import { createSystem, installNode, installPackages } from '../../support/debian-system.ts'
import { reasonToSkip } from '../../support/required-programs.ts'
import { skip as noMachines, prepare, startWithServer } from './machines.ts'
import type { Reader } from './reader.ts'

const skip = noMachines || reasonToSkip('debootstrap', 'unshare')
before(prepare)

/** What a person who follows the link of the set-up sees on the dashboard, with an authtoken. */
async function openDashboard(reader: Reader, report: string) {
  const [, origin, link] =
    /(https:\/\/dashboard\S+)\/dashboard\/#\/set-password\?token=(\S+)/.exec(report) ?? []
  assert.ok(origin && link, report)
  const curl = `curl -fsS -c jar -b jar -H 'content-type: application/json'`
  const signIn = JSON.stringify({ link, password: 'correct horse battery staple' })
  const session = JSON.parse(
    await reader.type('server', `${curl} -d '${signIn}' ${origin}/dashboard/api/session`),
  )
  const platform: PlatformInfo = JSON.parse(
    await reader.type(
      'server',
      `${curl} -H 'x-csrf-token: ${session.csrf}' ${origin}/dashboard/api/platform`,
    ),
  )
  const { authtoken, api_key } = JSON.parse(await reader.type('server', 'cat /var/lib/adit/credentials.json'))
  return { platform, authtoken, api_key } as { platform: PlatformInfo; authtoken: string; api_key: string }
}

/** A service on the machine, a URL for it by the command, and a visit from another machine. */
async function serveUrl(reader: Reader, command: string): Promise<void> {
  await reader.type('laptop', 'mkdir hello && echo Hello > hello/index.html')
  await reader.typeAndWait('laptop', 'python3 -u -m http.server -b 127.0.0.1 -d hello 3000', 'Serving HTTP')
  const output = await reader.typeAndWait('laptop', command, 'https://')
  const [url] = /https:\/\/[\w.-]+/.exec(output) ?? []
  assert.equal(await reader.type('server', `curl -fsS ${url}`), 'Hello\n')
}

function testJoining(
  channel: string,
  prepareSystem: (system: DebianRoot) => void,
  findLine: (platform: PlatformInfo, authtoken: string) => string | undefined,
): void {
  test(`an empty Debian joins a server by one line of its dashboard: ${channel}`, {
    skip,
  }, async (t: TestContext) => {
    const system = createSystem(t)
    prepareSystem(system)
    const { reader, report } = await startWithServer(t, system.directory)
    const { platform, authtoken } = await openDashboard(reader, report)
    const line = findLine(platform, authtoken)
    assert.ok(line !== undefined, JSON.stringify(platform))
    t.diagnostic(line)

    await reader.type('laptop', line)

    await serveUrl(reader, 'adit http 3000')
  })
}

const findOther = (channel: string) => (platform: PlatformInfo, authtoken: string) =>
  otherInstallCommands(platform, authtoken).find((other) => other.channel === channel)?.command

testJoining(
  'the script',
  (system) => installPackages(system, 'curl', 'libatomic1', 'python3'),
  (platform, authtoken) => joinCommand(platform, authtoken),
)
testJoining(
  'npm',
  (system) => {
    installNode(system)
    installPackages(system, 'python3')
  },
  findOther('With npm'),
)
testJoining(
  'the Debian package',
  (system) => installPackages(system, 'curl', 'sudo', 'libatomic1', 'python3'),
  findOther('On Debian and Ubuntu'),
)
testJoining(
  'the executable',
  (system) => installPackages(system, 'curl', 'sudo', 'libatomic1', 'python3'),
  findOther('As one file for Linux'),
)

test('an empty Debian joins a server by one line of its dashboard: ssh -R', { skip }, async (t) => {
  const system = createSystem(t)
  installPackages(system, 'openssh-client', 'python3')
  const { reader, report } = await startWithServer(t, system.directory)
  const { platform, api_key } = await openDashboard(reader, report)
  const line = sshCommand(platform)
  assert.ok(line !== undefined, JSON.stringify(platform))
  t.diagnostic(line)
  await reader.type('laptop', `ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519`)
  const public_key = (await reader.type('laptop', 'cat ~/.ssh/id_ed25519.pub')).trim()
  const key = JSON.stringify({ public_key, description: 'the other machine' })
  await reader.type(
    'server',
    `curl -fsS -H 'authorization: Bearer ${api_key}' -H 'content-type: application/json' -d '${key}' http://127.0.0.1:4080/ssh_credentials`,
  )

  await serveUrl(reader, line)
})
