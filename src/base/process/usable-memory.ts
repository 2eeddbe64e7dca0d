import { totalmem } from 'node:os'

/** The bytes of memory that this process may use: those of the machine, or of its container. */
export function usableMemory(): number {
  // Without a limit for the container, this is a number beyond any memory.
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
}
