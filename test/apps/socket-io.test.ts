import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findFreePorts } from '../support/free-ports.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { installNpm } from './installs.ts'
import { assertSameUse } from './same-use.ts'

test('socket.io: polling and WebSocket, acknowledgements, binary data, rooms and recovery of a lost connection', async (t) => {
  const programs = await installNpm(t, 'socket.io@4.8.4', 'socket.io-client@4.8.4')
  if (programs === undefined) return
  const seen = await assertSameUse(
    t,
    async () => {
      const port = await findFreePorts(1)
      await startServiceProgram(t, programs.script('socket-io-server.mjs', String(port)), { port })
      return port
    },
    async ({ url, run }) => JSON.parse(await run(programs.script('socket-io-client.mjs', url))),
  )
  if (seen === undefined) return
  assert.equal(seen.upgraded, 'websocket')
  assert.equal(seen.recovered, true)
})
