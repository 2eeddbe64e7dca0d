import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { CommandResult, CommandRun } from './command-host-process.ts'

/** A process that runs one command line after the other. */
export interface CommandHost {
  run(args: readonly string[], options: Omit<CommandRun, 'args'>): Promise<CommandResult>
  stop(): void
}

/**
 * Starts a process for many short commands, where a process for each would mostly load modules. Commands share its modules
 * and working directory; each has arguments, an environment and outputs of its own, and no input or signals.
 */
export function startCommandHost(): CommandHost {
  const { PATH = '' } = process.env
  const child = fork(join(import.meta.dirname, 'command-host-process.ts'), {
    env: { PATH },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`the command host exited with ${code}`)
  })
  exited.catch(() => {})
  let last: Promise<unknown> = Promise.resolve()

  async function send(run: CommandRun): Promise<CommandResult> {
    const answered = once(child, 'message')
    child.send(run)
    const [result] = await Promise.race([answered, exited])
    return result as CommandResult
  }

  return {
    run(args, options) {
      const result = last.then(() => send({ args: [...args], ...options }))
      last = result.catch(() => {})
      return result
    },
    stop: () => child.kill('SIGKILL'),
  }
}
