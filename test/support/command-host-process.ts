import { AsyncLocalStorage } from 'node:async_hooks'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { rearmFailpoint } from '../../src/base/process/failpoint.ts'
import { runArguments } from '../../src/program.ts'

/** A command line to run. */
export interface CommandRun {
  readonly args: string[]
  readonly env: Readonly<Record<string, string>>
  /** Stands for a signal: text on stdout after which the command is told to stop. */
  readonly stopAfter?: string | undefined
}

/** What it printed, and its exit code. */
export interface CommandResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Thrown by `process.exit` in place of the end of the process. */
class Exit extends Error {
  readonly code: number

  constructor(code: number) {
    super(`exit ${code}`)
    this.code = code
  }
}

interface RunState {
  readonly output: { stdout: string; stderr: string }
  stopAfter: string | undefined
  ended: boolean
}

/** The run that a write or an exit belongs to: a timer of an earlier one may still fire. */
const current = new AsyncLocalStorage<RunState>()

// The launcher uses the same cache.
enableCompileCache(join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'adit'))

for (const name of ['stdout', 'stderr'] as const) {
  const write = process[name].write.bind(process[name])
  process[name].write = ((chunk: string | Uint8Array) => {
    const run = current.getStore()
    if (run === undefined) return write(chunk)
    run.output[name] += String(chunk)
    if (run.stopAfter !== undefined && run.output.stdout.includes(run.stopAfter)) {
      run.stopAfter = undefined
      process.emit('SIGTERM')
    }
    return true
  }) as typeof process.stdout.write
}

process.exit = (code) => {
  if (current.getStore()?.ended) return undefined as never
  throw new Exit(Number(code ?? 0))
}

async function runOnce({ args, env, stopAfter }: CommandRun): Promise<CommandResult> {
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  rearmFailpoint()
  process.removeAllListeners('SIGTERM').removeAllListeners('SIGINT')
  const run: RunState = { output: { stdout: '', stderr: '' }, stopAfter, ended: false }
  const server = {
    run: async (rest: readonly string[]) =>
      (await import('../../src/server/commands/cli.ts')).runServer(rest),
    completion: async () => (await import('../../src/server/commands/completion.ts')).serverCompletion(),
  }
  try {
    const code = await current.run(run, () => runArguments(args, server))
    return { code, ...run.output }
  } catch (error) {
    if (error instanceof Exit) return { code: error.code, ...run.output }
    throw error
  } finally {
    run.ended = true
  }
}

process.on('message', async (run: CommandRun) => process.send?.(await runOnce(run)))
