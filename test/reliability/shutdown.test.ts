import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { ADIT } from '../support/adit-program.ts'
import { cleanEnv, startProgram } from '../support/agent-process.ts'
import { createClient } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { ANY_PORTS } from '../support/free-ports.ts'
import { readText, startHarness } from '../support/harness.ts'
import { startHttp } from '../support/local-server.ts'
import { createTempDir } from '../support/temp-dir.ts'

test('a stopping server finishes requests in flight, accepts no new ones and exits with 0', async (t) => {
  const harness = await startHarness(t)
  const pendingResponses = new Map<string, ServerResponse>()
  const port = await startHttp(t, (request, response) => {
    pendingResponses.set(request.url!, response)
    // One response has begun when the signal arrives, the other has not.
    if (request.url === '/begun') response.write('first half, ')
    request.resume()
  })
  const agent = harness.startAgent(['http', String(port), '--url=http://slow.adit.localhost'])
  await agent.until(({ stdout }) => stdout.includes('Forwarding'))
  const startedResponse = await harness.get('slow.adit.localhost', '/begun')
  const pendingResponse = harness.get('slow.adit.localhost', '/unanswered')
  await eventually(async () => pendingResponses.size === 2, 'both requests reach the service')

  harness.server.child.kill('SIGTERM')
  await eventually(async () => (await isRefused(harness.httpPort)) === true, 'new connections are refused')
  pendingResponses.get('/begun')!.end('second half')
  pendingResponses.get('/unanswered')!.end('complete')

  assert.equal(await readText(startedResponse), 'first half, second half')
  const completedResponse = await pendingResponse
  assert.equal(await readText(completedResponse), 'complete')
  assert.equal(completedResponse.headers.connection, 'close')
  assert.equal(await harness.server.waitForExit(), 0)
})

test('an idle server stops immediately despite agents and keep-alive connections', async (t) => {
  const harness = await startHarness(t)
  const port = await startHttp(t, (_request, response) => response.end('here'))
  const agent = harness.startAgent(['http', String(port), '--url=http://idle.adit.localhost'])
  await agent.until(({ stdout }) => stdout.includes('Forwarding'))
  const idleConnection = connect(harness.httpPort, '127.0.0.1')
  idleConnection.write(`GET / HTTP/1.1\r\nHost: idle.adit.localhost:${harness.httpPort}\r\n\r\n`)
  await once(idleConnection, 'data')
  const closed = once(idleConnection, 'close')

  harness.server.child.kill('SIGTERM')

  assert.equal(await harness.server.waitForExit(), 0)
  await closed
})

test('half a request to the API does not delay a stopping server', async (t) => {
  const harness = await startHarness(t)
  const socket = connect(Number(new URL(harness.credentials.api_url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write('GET / HT')
  await once(socket, 'connect')
  // The server has accepted the connection once it has answered a later request.
  await harness.list('/api_keys')

  harness.server.child.kill('SIGTERM')

  assert.equal(await harness.server.waitForExit(), 0)
})

test('a server whose log cannot be written keeps serving', async (t) => {
  const env = cleanEnv(createTempDir())
  const args = ['-c', 'exec "$0" "$@" 2>/dev/full', ADIT, 'server', '--log-level=debug', ...ANY_PORTS]
  const server = startProgram(t, args, { env, launcher: '/bin/sh' })
  await server.until(({ stdout }) => stdout.includes('Adit is ready.'))
  const credentials = JSON.parse(await readFile(join(env.ADIT_DATA_DIR!, 'credentials.json'), 'utf8'))
  const call = createClient(credentials.api_url, credentials.api_key)

  for (let index = 0; index < 20; index++) await call.create('/ip_policies', {})

  server.child.kill('SIGTERM')
  assert.equal(await server.waitForExit(), 0)
})

async function isRefused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const [error] = await Promise.race([once(socket, 'connect'), once(socket, 'error')]).catch((error) => [
    error,
  ])
  socket.destroy()
  return error?.code === 'ECONNREFUSED'
}
