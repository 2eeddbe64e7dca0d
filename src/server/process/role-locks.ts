import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CommandFailure } from '../../base/process/command-line.ts'
import { lockFile } from '../../base/process/file-lock.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { StoreUnavailable } from '../../store/index.ts'
import type { RoleName } from '../settings/settings.ts'

/**
 * Locks the roles of a data directory for this process: two servers with the same role would assign the same names
 * and overwrite each other's files. Returns the function that releases them. Subcommands take no lock. A worker has locks of
 * its own, below those of its control process.
 */
export function lockRoles(dataDir: string, roles: Iterable<RoleName>, worker?: number): () => void {
  const locks: (() => void)[] = []
  const release = () => {
    for (const unlock of locks.splice(0)) unlock()
  }
  try {
    for (const role of roles) {
      const name = worker === undefined ? role : `${role}-${worker}`
      locks.push(acquireLock(join(dataDir, `${name}.lock`), role, dataDir))
    }
    return release
  } catch (error) {
    release()
    throw error
  }
}

/** How often a process tries to lock the roles of one that has just ended. */
const RETRY_MS = 50

/** Locks the roles as soon as the process that this one replaces has ended, and with it its locks. */
export function inheritRoleLocks(
  dataDir: string,
  roles: Iterable<RoleName>,
  predecessorEnded: Promise<void>,
  worker?: number,
): () => void {
  const stopped = new AbortController()
  let release = () => {}
  const lock = async () => {
    await predecessorEnded
    while (!stopped.signal.aborted)
      try {
        release = lockRoles(dataDir, roles, worker)
        return
      } catch {
        await delay(RETRY_MS, undefined, { ref: false })
      }
  }
  void lock()
  return () => {
    stopped.abort()
    release()
  }
}

function acquireLock(file: string, role: RoleName, dataDir: string): () => void {
  const release = tryLock(file)
  if (release === undefined)
    throw new CommandFailure(
      `Another server runs the role ${role} on the data directory ${dataDir}. Stop it, or choose another directory with --data-dir.`,
    )
  return release
}

function tryLock(file: string): (() => void) | undefined {
  try {
    return lockFile(file)
  } catch (error) {
    throw new StoreUnavailable(`The lock file ${file} cannot be used: ${errorMessage(error)}.`, {
      cause: error,
    })
  }
}
