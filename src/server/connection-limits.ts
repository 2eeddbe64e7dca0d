import { readFile } from 'node:fs/promises'

/** As many as are usual where nobody can say. */
const USUAL = 65_536
const MOST_PLACES = 16_384
/** Half of it is there for one account alone, twice over while its agents come back and their old sessions expire. */
const MAX_SESSIONS = 65_536
const FEWEST_PLACES = 32

/** How many files and sockets this process may have open. */
export async function openFilesLimit(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return soft === undefined ? USUAL : Number(soft)
}

/**
 * How many connections each of HTTP, HTTPS and all TCP ports takes, the API, and sessions of agents and SSH clients:
 * together less than three quarters of what may be open, since a process without descriptors serves nobody (P22).
 */
export function placesFor(openFiles: number): { visitors: number; calls: number; sessions: number } {
  const places = (share: number) => Math.max(Math.floor(openFiles * share), FEWEST_PLACES)
  return {
    visitors: Math.min(places(0.125), MOST_PLACES),
    calls: Math.min(places(0.08), MOST_PLACES),
    sessions: Math.min(places(0.25), MAX_SESSIONS),
  }
}
