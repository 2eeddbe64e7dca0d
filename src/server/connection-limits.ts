import { readFile } from 'node:fs/promises'

/** Assumed where the limit cannot be read. */
const DEFAULT_OPEN_FILES = 65_536
const MAX_CONNECTIONS = 16_384
/** One account may use half of it: twice its agents, while they reconnect and their old sessions expire. */
const MAX_SESSIONS = 65_536
const MIN_CONNECTIONS = 32

/** How many files and sockets this process may have open. */
export async function openFilesLimit(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return soft === undefined ? DEFAULT_OPEN_FILES : Number(soft)
}

/**
 * The connection limits of each client listener (HTTP, HTTPS, all TCP ports), of the API, of agent and SSH sessions, and
 * of the agents' further legs. Together they use less than three quarters of the descriptors: a process without any serves nothing (P22).
 */
export function computeConnectionLimits(openFiles: number): {
  clients: number
  apiCalls: number
  sessions: number
  legs: number
} {
  const shareOf = (share: number) => Math.max(Math.floor(openFiles * share), MIN_CONNECTIONS)
  return {
    clients: Math.min(shareOf(0.125), MAX_CONNECTIONS),
    apiCalls: Math.min(shareOf(0.08), MAX_CONNECTIONS),
    sessions: Math.min(shareOf(0.2), MAX_SESSIONS),
    legs: Math.min(Math.floor(openFiles * 0.07), MAX_SESSIONS),
  }
}
