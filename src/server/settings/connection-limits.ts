import { readFile } from 'node:fs/promises'

/** Assumed where the limit cannot be read. */
const DEFAULT_OPEN_FILES = 65_536
const MAX_CONNECTIONS = 16_384
const MAX_SESSIONS = 65_536
const MIN_CONNECTIONS = 32
/** Descriptors for everything else: agents before they have authenticated, other nodes and workers, files, outbound calls. */
const MAX_RESERVE = 3072

/** How many files and sockets this process may have open. */
export async function openFilesLimit(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return soft === undefined ? DEFAULT_OPEN_FILES : Number(soft)
}

/**
 * The connection limits of each client listener (HTTP, HTTPS, all TCP ports), of the API, of the agents' further legs, and
 * of agent and SSH sessions, which get the rest. Together they leave a reserve: a process without any descriptors serves
 * nothing (P22).
 */
export function computeConnectionLimits(openFiles: number): {
  clients: number
  apiCalls: number
  sessions: number
  legs: number
} {
  const shareOf = (share: number) =>
    Math.min(Math.max(Math.floor(openFiles * share), MIN_CONNECTIONS), MAX_CONNECTIONS)
  const clients = shareOf(0.125)
  const apiCalls = shareOf(0.08)
  const legs = Math.min(Math.floor(openFiles * 0.07), MAX_SESSIONS)
  const reserve = Math.min(openFiles / 4, MAX_RESERVE)
  const rest = Math.floor(openFiles - reserve) - 3 * clients - apiCalls - legs
  return { clients, apiCalls, legs, sessions: Math.min(Math.max(rest, MIN_CONNECTIONS), MAX_SESSIONS) }
}
