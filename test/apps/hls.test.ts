import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { findFreePorts } from '../support/free-ports.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { startServiceProgram } from '../support/service-program.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { assertSameUse } from './same-use.ts'

/** A film of these seconds that each encoder run makes of the same bytes. */
const createFilm = (seconds: number) => [
  ...['-f', 'lavfi', '-i', `testsrc2=size=320x240:rate=25:duration=${seconds}`],
  ...['-f', 'lavfi', '-i', `sine=frequency=440:duration=${seconds}`],
  ...['-c:v', 'libx264', '-preset', 'ultrafast', '-threads', '1', '-g', '25', '-c:a', 'aac', '-bitexact'],
]

test('HLS: ffmpeg plays a film, seeks in a file and follows a live stream', {
  skip: missingPrograms('ffmpeg', 'python3'),
}, async (t) => {
  const seen = await assertSameUse(
    t,
    async () => {
      const dir = createTempDir()
      const hls = ['-f', 'hls', '-hls_time', '1', '-hls_list_size', '0']
      const quiet = { cwd: dir, stdio: 'inherit' } as const
      execFileSync('ffmpeg', ['-v', 'error', ...createFilm(20), ...hls, 'film.m3u8'], quiet)
      execFileSync('ffmpeg', ['-v', 'error', '-i', 'film.m3u8', '-c', 'copy', 'film.mp4'], quiet)
      const encoder = spawn(
        'ffmpeg',
        ['-v', 'error', '-re', ...createFilm(6), ...hls, '-hls_playlist_type', 'event', 'live.m3u8'],
        quiet,
      )
      const ended = once(encoder, 'exit')
      t.after(() => ended)
      await eventually(() => existsSync(join(dir, 'live.m3u8')))
      const port = await findFreePorts(1)
      const server = ['python3', '-m', 'http.server', '--bind', '127.0.0.1', '--directory', dir] as const
      await startServiceProgram(t, [...server, String(port)], { port })
      return port
    },
    async ({ url, run }) => {
      const play = (...args: string[]) =>
        run(['ffmpeg', '-v', 'error', ...args, '-c', 'copy', '-f', 'framemd5', '-'])
      return {
        live: await play('-live_start_index', '0', '-i', `${url}/live.m3u8`),
        film: await play('-i', `${url}/film.m3u8`),
        part: await play('-ss', '12', '-i', `${url}/film.mp4`, '-t', '2'),
      }
    },
  )
  const frames = (text = '') => text.split('\n').filter((line) => line.startsWith('0,')).length
  assert.equal(frames(seen?.live), 150)
  assert.equal(frames(seen?.film), 500)
})
