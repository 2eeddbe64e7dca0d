import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { promisify } from 'node:util'
import type { UpstreamAddress } from '../spec/upstream-address.ts'

const run = promisify(execFile)
const NETSTAT_TIMEOUT_MS = 3_000

/**
 * Whether a service listens at an upstream address of this machine; undefined when that is not known. It reads the list of
 * the system and does not connect: a service such as `nc -l` takes one connection only.
 */
export async function isServed({ kind, host, port, path }: UpstreamAddress): Promise<boolean | undefined> {
  if (kind === 'directory') return true
  if (kind === 'unix') return existsSync(path)
  if (host !== 'localhost' && !(isIP(host) && /^127\.|^::1$/.test(host))) return undefined
  const ports = await (process.platform === 'linux' ? readKernelTables() : runNetstat()).catch(
    () => undefined,
  )
  return ports?.has(port)
}

/** The ports in the state LISTEN of this network namespace. */
async function readKernelTables(): Promise<Set<number>> {
  const tables = [
    readFile('/proc/self/net/tcp', 'latin1'),
    readFile('/proc/self/net/tcp6', 'latin1').catch(() => ''),
  ]
  return parseKernelTables((await Promise.all(tables)).join('\n'))
}

const KERNEL_ENTRY = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:[0-9A-F]{4} 0A /gm

/** Reads the listening ports from the kernel's tables (proc(5), /proc/net/tcp). */
export function parseKernelTables(text: string): Set<number> {
  return new Set([...text.matchAll(KERNEL_ENTRY)].map(([, port = '']) => Number.parseInt(port, 16)))
}

async function runNetstat(): Promise<Set<number>> {
  const { stdout } = await run('netstat', ['-an'], { timeout: NETSTAT_TIMEOUT_MS, windowsHide: true })
  return parseNetstat(stdout)
}

const ADDRESS_END = /[.:](\d{1,5})$/

/** Reads the listening ports from the output of `netstat -an` on macOS, BSD or Windows. */
export function parseNetstat(text: string): Set<number> {
  const listening = text
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => /^tcp/i.test(columns[0] ?? '') && columns.at(-1)?.startsWith('LISTEN'))
  // The first address of a line is the local one.
  return new Set(
    listening.flatMap((columns) => {
      const port = columns.find((column) => ADDRESS_END.test(column))?.match(ADDRESS_END)?.[1]
      return port === undefined ? [] : [Number(port)]
    }),
  )
}
