import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import { getRawAsset, isSea } from 'node:sea'

/** True in a single executable, which contains the files of its installation as assets. */
export const IS_EXECUTABLE: boolean = isSea()

/**
 * Reads a file of the installation. Those of a single executable appear below its own path, as if it were a directory:
 * `/usr/bin/adit/package.json`. Rejects if there is no such file.
 */
export async function readProgramFile(path: string): Promise<Buffer> {
  return IS_EXECUTABLE ? readEmbeddedFile(path) : readFile(path)
}

/** The same, for what is needed while modules load. */
export function readProgramFileSync(path: string): Buffer {
  return IS_EXECUTABLE ? readEmbeddedFile(path) : readFileSync(path)
}

/** A view of the executable's memory: nothing is copied. */
function readEmbeddedFile(path: string): Buffer {
  return Buffer.from(getRawAsset(relative(process.execPath, path).replaceAll(sep, '/')))
}
