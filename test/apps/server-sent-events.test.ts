import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findFreePorts } from '../support/free-ports.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { installNpm } from './installs.ts'
import { assertSameUse } from './same-use.ts'

test('server-sent events: each event arrives as it is sent, and once although the connection is lost', async (t) => {
  const programs = await installNpm(t, 'better-sse@0.16.1', 'eventsource@5.1.5')
  if (programs === undefined) return
  const seen = await assertSameUse(
    t,
    async () => {
      const port = await findFreePorts(1)
      await startServiceProgram(t, programs.script('events-server.mjs', String(port)), { port })
      return port
    },
    async ({ url, run }) => JSON.parse(await run(programs.script('events-client.mjs', url))),
  )
  if (seen === undefined) return
  assert.deepEqual(
    seen.ids,
    Array.from({ length: 100 }, (_, index) => String(index + 1)),
  )
  assert.ok(seen.connections > 5)
})
