import { chmod, open, readFile, rename, rm } from 'node:fs/promises'

/**
 * Writes a file as a whole, durably, or leaves it as it was: never truncated, also on a full disk. A file that has this
 * content already is not written, so that a later start needs no space.
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
