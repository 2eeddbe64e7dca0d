import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findFreePorts } from '../support/free-ports.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { installNpm } from './installs.ts'
import { createNoise, digestOf } from './noise.ts'
import { assertSameUse } from './same-use.ts'

test('tus: an upload that is aborted goes on where it was, and another starts with its creation', async (t) => {
  const programs = await installNpm(t, 'tus-js-client@4.3.1', '@tus/server@2.4.5', '@tus/file-store@2.1.1')
  if (programs === undefined) return
  const seen = await assertSameUse(
    t,
    async () => {
      const port = await findFreePorts(1)
      const command = programs.script('tus-server.mjs', String(port), createTempDir())
      await startServiceProgram(t, command, { port })
      return port
    },
    async ({ url, dir, run }) => {
      writeFileSync(join(dir, 'film'), createNoise(15_000_000))
      const outcome = JSON.parse(await run(programs.script('tus-client.mjs', url, join(dir, 'film'))))
      return { ...outcome, film: digestOf(join(dir, 'film')) }
    },
  )
  if (seen === undefined) return
  assert.ok(seen.resumedAt > 0)
  assert.deepEqual(seen.digests, [seen.film, seen.film])
})
