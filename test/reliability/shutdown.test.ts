import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { cleanEnv, makeHome, startProgram } from '../../src/agent/testing/program.ts'
import { BASE_ROOT } from '../../src/agent/version.ts'
import { createClient } from '../support/api.ts'
import { startLocal, startWorld, textOf, until } from './harness.ts'

test('a server asked to stop lets running requests finish, takes no new ones and exits with 0', async (t) => {
  const world = await startWorld(t)
  const waiting = new Map<string, ServerResponse>()
  const port = await startLocal(t, (request, response) => {
    waiting.set(request.url!, response)
    // One has begun its answer when the signal comes, the other has not.
    if (request.url === '/begun') response.write('first half, ')
    request.resume()
  })
  const agent = world.startAgent(['http', String(port), '--url=http://slow.adit.localhost'])
  await agent.until(({ stdout }) => stdout.includes('Forwarding'))
  const begun = await world.ask('slow.adit.localhost', '/begun')
  const unanswered = world.ask('slow.adit.localhost', '/unanswered')
  await until(async () => waiting.size === 2, 'both requests reach the service')

  world.server.child.kill('SIGTERM')
  await until(async () => (await refused(world.httpPort)) === true, 'new visitors are refused')
  waiting.get('/begun')!.end('second half')
  waiting.get('/unanswered')!.end('complete')

  assert.equal(await textOf(begun), 'first half, second half')
  const answer = await unanswered
  assert.equal(await textOf(answer), 'complete')
  assert.equal(answer.headers.connection, 'close')
  assert.equal(await world.server.ended(), 0)
})

test('an idle server asked to stop ends, however many agents and kept connections there are', async (t) => {
  const world = await startWorld(t)
  const port = await startLocal(t, (_request, response) => response.end('here'))
  const agent = world.startAgent(['http', String(port), '--url=http://idle.adit.localhost'])
  await agent.until(({ stdout }) => stdout.includes('Forwarding'))
  const kept = connect(world.httpPort, '127.0.0.1')
  kept.write(`GET / HTTP/1.1\r\nHost: idle.adit.localhost:${world.httpPort}\r\n\r\n`)
  await once(kept, 'data')
  const gone = once(kept, 'close')

  world.server.child.kill('SIGTERM')

  assert.equal(await world.server.ended(), 0)
  await gone
})

test('somebody who sends half a request to the API does not keep a server from stopping', async (t) => {
  const world = await startWorld(t)
  const half = connect(Number(new URL(world.credentials.api_url).port), '127.0.0.1')
  half.on('error', () => {})
  half.write('GET / HT')
  await once(half, 'connect')
  // The server has seen it once it has answered somebody who came later.
  await world.list('/api_keys')

  world.server.child.kill('SIGTERM')

  assert.equal(await world.server.ended(), 0)
})

test('a server whose log cannot be written serves on', async (t) => {
  const env = cleanEnv(makeHome(t))
  const program = join(BASE_ROOT, 'bin', 'adit')
  const flags = ['api', 'http', 'https', 'agent', 'ssh', 'dns'].map((name) => `--${name}-addr=127.0.0.1:0`)
  const args = ['-c', 'exec "$0" "$@" 2>/dev/full', program, 'server', '--log-level=debug', ...flags]
  const server = startProgram(t, args, { env, launcher: '/bin/sh' })
  await server.until(({ stdout }) => stdout.includes('Adit is ready.'))
  const credentials = JSON.parse(await readFile(join(env.ADIT_DATA_DIR!, 'credentials.json'), 'utf8'))
  const call = createClient(credentials.api_url, credentials.api_key)

  for (let turn = 0; turn < 20; turn++) await call.create('/ip_policies', {})

  server.child.kill('SIGTERM')
  assert.equal(await server.ended(), 0)
})

async function refused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const [error] = await Promise.race([once(socket, 'connect'), once(socket, 'error')]).catch((e) => [e])
  socket.destroy()
  return error?.code === 'ECONNREFUSED'
}
