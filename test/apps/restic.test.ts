import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findFreePorts } from '../support/free-ports.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { installGo } from './installs.ts'
import { createNoise } from './noise.ts'
import { assertSameUse } from './same-use.ts'

test('restic: two backups, a check that reads all data, a restore and a prune', {
  skip: missingPrograms('go', 'restic'),
}, async (t) => {
  const server = await installGo(t, 'github.com/restic/rest-server', 'v0.12.1', 'cmd/rest-server')
  if (server === undefined) return
  const seen = await assertSameUse(
    t,
    async () => {
      const port = await findFreePorts(1)
      const flags = ['--no-auth', '--path', createTempDir(), '--listen', `127.0.0.1:${port}`]
      await startServiceProgram(t, [server, ...flags], { port })
      return port
    },
    async ({ url, dir, run }) => {
      const restic = (...args: string[]) =>
        run(['restic', '--quiet', ...args], {
          RESTIC_REPOSITORY: `rest:${url}/backups/`,
          RESTIC_PASSWORD: 'secret',
        })
      mkdirSync(join(dir, 'data'))
      for (let index = 0; index < 200; index++)
        writeFileSync(join(dir, 'data', `file ${index}`), createNoise(index * 500, index))
      writeFileSync(join(dir, 'data', 'large'), createNoise(40_000_000))

      await restic('init')
      await restic('backup', 'data')
      writeFileSync(join(dir, 'data', 'file 7'), 'changed')
      await restic('backup', 'data')
      await restic('check', '--read-data')
      await restic('restore', 'latest', '--target', 'restored')
      const snapshots = JSON.parse(await restic('snapshots', '--json'))
      await restic('forget', '--keep-last=1', '--prune')
      await restic('check')
      return {
        snapshots: snapshots.length,
        left: JSON.parse(await restic('snapshots', '--json')).length,
        differences: await run(['diff', '-r', 'data', 'restored/data']),
      }
    },
  )
  assert.deepEqual(seen, { snapshots: 2, left: 1, differences: '' })
})
