import { readFile } from 'node:fs/promises'

/** As many as are usual where nobody can say. */
const USUAL = 65_536
/** Kept free for databases, agents, upstreams and files. */
const RESERVED = 200
const MOST_PLACES = 16_384
const FEWEST_PLACES = 32

/** How many files and sockets this process may have open. */
export async function openFilesLimit(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return soft === undefined ? USUAL : Number(soft)
}

/**
 * How many visitors each public listener takes: as many as leave the process able to open what it needs for them, since a
 * process without descriptors serves nobody (P22).
 */
export function placesForVisitors(openFiles: number): number {
  const places = Math.floor((openFiles - RESERVED) / 3)
  return Math.min(Math.max(places, FEWEST_PLACES), MOST_PLACES)
}
