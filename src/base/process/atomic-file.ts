import { chmod, open, readFile, rename, rm } from 'node:fs/promises'

/**
 * Writes a file atomically and durably; on failure, also on a full disk, the old content stays. Skips the write if the
 * content is unchanged, so that a restart needs no disk space.
 */
export async function writeFileAtomic(file: string, content: string, mode: number): Promise<void> {
  if ((await readFile(file, 'utf8').catch(() => undefined)) === content) return chmod(file, mode)
  const temporaryFile = `${file}.new`
  try {
    const handle = await open(temporaryFile, 'w', mode)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporaryFile, file)
  } catch (error) {
    await rm(temporaryFile, { force: true })
    throw error
  }
}
