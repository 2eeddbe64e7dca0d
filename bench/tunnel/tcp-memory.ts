import { readFileSync, writeFileSync } from 'node:fs'

/** The kernel's limits for the buffers of all TCP connections, in pages. */
const LIMITS = '/proc/sys/net/ipv4/tcp_mem'

/** More than 200 stalled readers fill of the buffers at both ends, about 1.6 GB. */
const FACTOR = 4

/**
 * Raises the kernel's limit of TCP memory until this process exits. Both ends of every stalled connection are on this machine,
 * and above the limit the kernel shrinks the windows of all connections, those of the fast reader too.
 */
export function raiseTcpMemory(): void {
  try {
    const limits = readFileSync(LIMITS, 'utf8')
    const raised = limits
      .trim()
      .split(/\s+/)
      .map((pages) => Number(pages) * FACTOR)
    writeFileSync(LIMITS, raised.join(' '))
    process.once('exit', () => writeFileSync(LIMITS, limits))
  } catch (error) {
    console.error(
      `The limit of TCP memory stays (${(error as Error).message}): beside stalled readers the kernel slows all tunnels down.`,
    )
  }
}
