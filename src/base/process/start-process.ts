import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { IS_EXECUTABLE } from './program-files.ts'

/**
 * Starts a child process that runs a module, with a channel for messages. A single executable gets the module's URL as
 * its first argument (`executable.ts`).
 */
export function startProcess(module: URL, options: ForkOptions = {}): ChildProcess {
  return fork(IS_EXECUTABLE ? module.href : fileURLToPath(module), options)
}
