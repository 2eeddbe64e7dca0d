import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { startServerProcess } from '../../test/support/server-process.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'

interface LogLine {
  readonly part?: string
  readonly msg?: string
}

/** Sends bytes that no gateway understands. */
async function sendGarbage(address: string): Promise<void> {
  const socket = connect(Number(address.split(':').at(-1)), '127.0.0.1')
  socket.on('error', () => {})
  socket.end('GET / HTTP/1.1\r\n\r\n').resume()
  await once(socket, 'close')
}

test('every log line of a running server names its part and has a message', async (t) => {
  const flags = ['--log-level', 'debug', '--acme-directory', 'http://127.0.0.1:1/directory']
  const server = await startServerProcess(t, createTempDir(), flags)
  const lines = () =>
    server
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as LogLine)

  await sendGarbage(server.credentials.agent_addr!)
  const signIn = await fetch(`${server.url}/dashboard/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: server.url },
    body: JSON.stringify({ email: 'admin@adit.localhost', password: 'wrong' }),
  })

  assert.equal(signIn.status, 401)
  for (const expected of [
    'certs: ACME directory unavailable',
    'sessions: agent connection failed',
    'dashboard: sign-in failed',
  ])
    await eventually(() => lines().some(({ part, msg }) => `${part}: ${msg}` === expected), expected, 60_000)
  await server.stop()
  for (const line of lines()) {
    assert.match(String(line.part), /^[a-z]+$/, JSON.stringify(line))
    assert.match(String(line.msg), /\w/, JSON.stringify(line))
  }
})
