import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findFreePorts } from '../support/free-ports.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { installNpm } from './installs.ts'
import { createNoise } from './noise.ts'
import { assertSameUse } from './same-use.ts'

test('Redis: mass insertion, large values, transactions, blocking pops and subscriptions', {
  skip: missingPrograms('redis-server'),
}, async (t) => {
  const client = await installNpm(t, 'ioredis@6.0.0')
  if (client === undefined) return
  const seen = await assertSameUse(
    t,
    async () => {
      const port = await findFreePorts(1)
      const flags = ['--save', '', '--dir', createTempDir(), '--enable-debug-command', 'yes']
      await startServiceProgram(t, ['redis-server', '--port', String(port), ...flags], { port })
      return port
    },
    async ({ host, port, dir, run }) => {
      const cli = `redis-cli -h ${host} -p ${port}`
      const commands = Array.from({ length: 20_000 }, (_, index) => `SET key:${index} "value ${index}"`)
      writeFileSync(join(dir, 'commands'), `${commands.join('\r\n')}\r\n`)
      writeFileSync(join(dir, 'value'), createNoise(16 << 20))
      return {
        inserted: (await run(['sh', '-c', `${cli} --pipe < commands`])).match(
          /errors: \d+, replies: \d+/,
        )?.[0],
        stored: await run(['sh', '-c', `${cli} -x SET large < value`]),
        digestOfLarge: await run(['sh', '-c', `${cli} --raw GET large | head -c -1 | sha256sum`]),
        client: JSON.parse(await run(client.script('redis.mjs', host, String(port)))),
        digest: await run(['sh', '-c', `${cli} DEBUG DIGEST`]),
      }
    },
    { proto: 'tcp' },
  )
  assert.equal(seen?.inserted, 'errors: 0, replies: 20000')
})
