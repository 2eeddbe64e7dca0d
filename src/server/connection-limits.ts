import { readFile } from 'node:fs/promises'

/** As many as are usual where nobody can say. */
const DEFAULT_OPEN_FILES = 65_536
const MAX_CONNECTIONS = 16_384
/** Half of it is there for one account alone, twice over while its agents come back and their old sessions expire. */
const MAX_SESSIONS = 65_536
const MIN_CONNECTIONS = 32

/** How many files and sockets this process may have open. */
export async function openFilesLimit(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return soft === undefined ? DEFAULT_OPEN_FILES : Number(soft)
}

/**
 * How many connections each of HTTP, HTTPS and all TCP ports takes, the API, and sessions of agents and SSH clients:
 * together less than three quarters of what may be open, since a process without descriptors serves nobody (P22).
 */
export function computeConnectionLimits(openFiles: number): {
  clients: number
  apiCalls: number
  sessions: number
} {
  const shareOf = (share: number) => Math.max(Math.floor(openFiles * share), MIN_CONNECTIONS)
  return {
    clients: Math.min(shareOf(0.125), MAX_CONNECTIONS),
    apiCalls: Math.min(shareOf(0.08), MAX_CONNECTIONS),
    sessions: Math.min(shareOf(0.25), MAX_SESSIONS),
  }
}
