import assert from 'node:assert/strict'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ADIT } from '../support/adit-program.ts'
import { cleanEnv, startProgram } from '../support/agent-process.ts'
import { startHttp } from '../support/local-server.ts'
import { createMountNamespace } from '../support/mount-namespace.ts'
import { startPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { OPENERS, type Opener, open } from './openers.ts'

const NAME = 'first.adit.localhost'

/** A system that knows the names of its hosts file alone; `hostsFile` can be edited like that of a user. */
async function startSystem(t: TestContext, hosts: string) {
  const home = createTempDir()
  const hostsFile = join(home, 'hosts')
  const switchFile = join(home, 'nsswitch.conf')
  writeFileSync(hostsFile, hosts)
  writeFileSync(switchFile, 'hosts: files\n')
  const system = await createMountNamespace(t, {
    files: { '/etc/hosts': hostsFile, '/etc/nsswitch.conf': switchFile },
  })
  return system && { system, home, hostsFile }
}

/** Runs `adit http` there and returns its output once it has printed both URLs and, if expected, the hint. */
async function startAgentProgram(
  t: TestContext,
  there: NonNullable<Awaited<ReturnType<typeof startSystem>>>,
  until: RegExp,
) {
  const platform = await startPlatform(t)
  const port = await startHttp(t, (_request, response) => response.end('first page'))
  const [launcher, ...args] = there.system.wrap([
    ADIT,
    'http',
    String(port),
    `--url=${NAME}`,
    '--web-addr=false',
  ])
  const program = startProgram(t, args, {
    launcher,
    env: cleanEnv(there.home, { ADIT_DATA_DIR: platform.dataDir }),
  })
  await program.until(({ stdout }) => until.test(stdout))
  const urls = [...program.stdout.matchAll(/Forwarding +(\S+)/g)].map(([, url]) => url!)
  return { platform, output: program.stdout, urls }
}

async function assertOpens(
  openers: readonly Opener[],
  url: string,
  there: NonNullable<Awaited<ReturnType<typeof startSystem>>>,
) {
  for (const opener of openers) {
    const { stdout, stderr } = await open(opener, url, there)
    assert.match(stdout, /first page/, `${opener}: ${stderr}`)
  }
}

test('where the system resolves *.localhost, the first printed URL opens in every program', async (t) => {
  const there = await startSystem(t, `127.0.0.1 localhost ${NAME}\n`)
  if (there === undefined) return t.skip('mount namespaces are not allowed here')

  const { platform, output, urls } = await startAgentProgram(t, there, /adit server trust/)

  const { http_url, https_url } = platform.credentials
  assert.deepEqual(urls, [
    `http://${NAME}:${new URL(http_url).port}`,
    `https://${NAME}:${new URL(https_url).port}`,
  ])
  await assertOpens(Object.keys(OPENERS) as Opener[], urls[0]!, there)
  assert.match(output, /^Hint +Browsers warn about the https URL until you run: adit server trust$/m)
  assert.doesNotMatch(output, /does not resolve/)
})

test('where the system does not, browsers and curl open it, and the printed advice helps other programs', async (t) => {
  const there = await startSystem(t, '127.0.0.1 localhost\n')
  if (there === undefined) return t.skip('mount namespaces are not allowed here')

  const { output, urls } = await startAgentProgram(t, there, /where \*\.NAME resolves/)
  const [url] = urls

  assert.match(output, new RegExp(`^Hint +This system does not resolve ${NAME}\\.`, 'm'))
  await assertOpens(['curl', 'chromium'], url!, there)
  for (const opener of ['python', 'node'] as const) assert.notEqual((await open(opener, url!, there)).code, 0)

  const [, line] = /add this line to \/etc\/hosts: (.+)/.exec(output)!
  appendFileSync(there.hostsFile, `${line}\n`)

  await assertOpens(['python', 'node'], url!, there)
  const [, advice] = /For curl before 7\.85: (.+)/.exec(output)!
  const [command, ...args] = advice!.split(' ')
  assert.deepEqual([command, args[0], args.at(-1)], ['curl', '--resolve', url])
})
