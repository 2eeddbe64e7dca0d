import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, rmdir, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A small file system of its own, to be filled to the last byte. */
export interface SmallDisk {
  readonly path: string
  fill(): Promise<void>
  free(): Promise<void>
}

/** Mounts a small tmpfs; undefined, with the reason told, where that is not allowed. */
export async function mountSmallDisk(t: TestContext, mebibytes = 32): Promise<SmallDisk | undefined> {
  const path = await mkdtemp(join(tmpdir(), 'adit-test-disk-'))
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path], {
    encoding: 'utf8',
  })
  t.after(async () => {
    if (status === 0) spawnSync('umount', ['--lazy', path])
    await rmdir(path)
  })
  if (status !== 0) {
    t.skip(`a file system of its own cannot be mounted here: ${stderr.trim()}`)
    return undefined
  }
  const ballast = join(path, 'ballast')
  return {
    path,
    async fill() {
      // In steps, since a write that does not fit is cut short.
      for (const size of [1 << 20, 4096]) {
        for (;;) {
          const { bavail, bsize } = await statfs(path)
          if (bavail * bsize < size) break
          await writeFile(ballast, Buffer.alloc(Math.floor((bavail * bsize) / size) * size), { flag: 'a' })
        }
      }
    },
    free: () => rm(ballast, { force: true }),
  }
}
