import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTempDir } from '../support/temp-dir.ts'

const root = join(import.meta.dirname, '..', '..')

/** Runs a command in a shell with an empty home directory, and waits for a match in its output. */
async function runCommand(
  t: TestContext,
  home: string,
  command: string,
  pattern: RegExp,
): Promise<RegExpExecArray> {
  const env = { PATH: process.env.PATH, HOME: home, npm_config_update_notifier: 'false' }
  // In its own process group, so that all child processes end with the test.
  const child = spawn('sh', ['-c', command], { cwd: root, env: env as NodeJS.ProcessEnv, detached: true })
  const exited = once(child, 'exit')
  t.after(async () => {
    process.kill(-child.pid!, 'SIGTERM')
    await exited
  })
  let output = ''
  const matched = Promise.withResolvers<RegExpExecArray>()
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
      const match = pattern.exec(output)
      if (match !== null) matched.resolve(match)
    })
  void exited.then(() => matched.reject(new Error(`${command} ended:\n${output}`)))
  return matched.promise
}

async function curl(...args: string[]): Promise<string> {
  const child = spawn('curl', ['-sS', '--max-time', '20', ...args])
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  await once(child, 'close')
  return output
}

test('the quick start commands of the README, verbatim, produce a working URL', async (t) => {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const section = readme.slice(readme.indexOf('## Quick start'), readme.indexOf('## Install'))
  const [start, forward, ...otherCommands] = [...section.matchAll(/```sh\n(.+)\n```/g)].map(
    ([, command]) => command!,
  )
  const port = Number(forward?.split(' ').at(-1))
  const home = createTempDir()
  if (!(await isInstalled())) return t.skip('the dependencies are not those of the lock file; run: npm test')
  if (await isAnyPortInUse([port, 4080, 8080, 8443, 4443, 2222, 5354]))
    return t.skip('a default port is in use here')
  const local = createServer((request, response) => response.end(`local ${request.url}`))
  await once(local.listen(port, '127.0.0.1'), 'listening')
  t.after(() => local.close())

  await runCommand(t, home, start!, /Adit is ready\./)
  const [, url] = await runCommand(t, home, forward!, /Forwarding +(\S+)/)
  const body = await curl(`${url}/hello`)

  assert.deepEqual(otherCommands, [])
  assert.equal(body, 'local /hello')
})

/** Whether the dependencies are installed, as they are once `npm test` has started. */
async function isInstalled(): Promise<boolean> {
  const script = `[ "$(cat node_modules/.installed)" = "$(cksum package-lock.json | cut -d' ' -f1,2)" ]`
  const [code] = await once(spawn('sh', ['-c', script], { cwd: root }), 'exit')
  return code === 0
}

async function isAnyPortInUse(ports: number[]): Promise<boolean> {
  for (const port of ports) {
    const probe = createServer()
    const error = await once(probe.listen(port, '127.0.0.1'), 'listening').then(
      () => undefined,
      (failure) => failure,
    )
    probe.close()
    if (error !== undefined) return true
  }
  return false
}
