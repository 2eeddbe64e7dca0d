import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findFreePorts } from '../support/free-ports.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createNoise, digestOf } from './noise.ts'
import { assertSameUse } from './same-use.ts'

async function serveWebDav(t: Parameters<typeof startServiceProgram>[0]): Promise<number> {
  const port = await findFreePorts(1)
  const command = ['rclone', 'serve', 'webdav', '--addr', `127.0.0.1:${port}`, createTempDir()] as const
  await startServiceProgram(t, command, { port })
  return port
}

test('WebDAV: rclone synchronises a tree, moves files and checks every digest', {
  skip: missingPrograms('rclone'),
}, async (t) => {
  const seen = await assertSameUse(
    t,
    () => serveWebDav(t),
    async ({ url, dir, run }) => {
      const remote = (path: string) => `:webdav,url='${url}':${path}`
      const tree = join(dir, 'tree', 'Ünïcode & spaces')
      mkdirSync(tree, { recursive: true })
      for (let index = 0; index < 30; index++)
        writeFileSync(join(tree, `file ${index} #?%.txt`), createNoise(index * 1000, index))
      writeFileSync(join(tree, 'large'), createNoise(20_000_000))

      await run(['rclone', 'sync', 'tree', remote('tree')])
      await run(['rclone', 'moveto', remote('tree/Ünïcode & spaces/large'), remote('moved/large')])
      await run(['rclone', 'deletefile', remote('tree/Ünïcode & spaces/file 3 #?%.txt')])
      await run(['rclone', 'sync', remote(''), 'back'])
      return {
        listed: (await run(['rclone', 'lsf', '--recursive', remote('')])).split('\n').sort(),
        back: (await run(['rclone', 'hashsum', 'sha256', 'back'])).split('\n').sort(),
        part: await run([
          'sh',
          '-c',
          'rclone cat --offset 1000000 --count 1000 "$0" | sha256sum',
          remote('moved/large'),
        ]),
      }
    },
  )
  assert.equal(seen?.listed.length, 34)
})

test('WebDAV: cadaver stores, copies, moves, lists and fetches', {
  skip: missingPrograms('cadaver', 'rclone'),
}, async (t) => {
  const seen = await assertSameUse(
    t,
    () => serveWebDav(t),
    async ({ url, host, dir, run }) => {
      writeFileSync(join(dir, 'notes'), createNoise(3_000_000))
      const commands = [
        ...['mkcol folder', 'cd folder', 'put notes', 'copy notes copied', 'move copied moved', 'ls'],
        ...['get moved fetched', 'delete notes', 'ls', 'cd ..', 'rmcol folder', 'ls', 'quit'],
      ]
      writeFileSync(join(dir, 'commands'), `${commands.join('\n')}\n`)
      const output = await run(['sh', '-c', `cadaver ${url}/ < commands`])
      return {
        // Without dates, the host and dots, which show how the transfer was cut into reads.
        output: output
          .replaceAll(/\w{3} +\d+ +\d\d:\d\d/g, 'date')
          .replaceAll(host, 'HOST')
          .replaceAll(/\[\.+/g, '[…'),
        fetched: digestOf(join(dir, 'fetched')),
        stored: digestOf(join(dir, 'notes')),
      }
    },
  )
  assert.equal(seen?.fetched, seen?.stored)
})
