import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, rmdir, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A small separate file system that a test can fill completely. */
export interface SmallDisk {
  readonly path: string
  fill(): Promise<void>
  free(): Promise<void>
}

/** Mounts a small tmpfs. Where that is not allowed, skips the test with the reason and returns undefined. */
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
    t.skip(`a separate file system cannot be mounted here: ${stderr.trim()}`)
    return undefined
  }
  const ballast = join(path, 'ballast')
  return {
    path,
    async fill() {
      // In decreasing steps, since a write that does not fit is truncated.
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
