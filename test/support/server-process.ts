import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { ADIT } from './adit-program.ts'
import { ANY_PORTS } from './free-ports.ts'
import type { TestPlatform } from './platform.ts'

/** `adit server` in a child process, as a user runs it. */
export interface ServerProcess {
  readonly pid: number
  readonly url: string
  readonly apiKey: string
  readonly authtoken: string
  /** The content of its `credentials.json`. */
  readonly credentials: TestPlatform['credentials']
  /** Everything printed and logged so far. */
  readonly output: () => string
  /** Resolves when the process has exited, for any reason. */
  ended(): Promise<void>
  /** Kills the process, like a crash. */
  kill(): Promise<void>
  /** Stops it, and resolves to its exit code; null when a signal ended it. */
  stop(): Promise<number | null>
}

/** Options of a server's process. */
export interface ProcessOptions {
  readonly environment?: Readonly<Record<string, string>>
  /** A program that runs the server, such as strace, with its arguments. */
  readonly wrapper?: readonly string[]
  /** An installed `adit` instead of this checkout's. */
  readonly program?: string
}

/** What a server prints once it has started, also without its database. */
export const STARTED = /Adit (is ready|has started)/

/** Starts a server on a data directory and waits until it reports that it has started. */
export async function startServerProcess(
  t: TestContext,
  dataDir: string,
  flags: readonly string[] = [],
  { environment = {}, wrapper = [], program: adit = ADIT }: ProcessOptions = {},
): Promise<ServerProcess> {
  const [program, ...args] = [...wrapper, adit, 'server', '--data-dir', dataDir, ...ANY_PORTS, ...flags]
  const child = spawn(program!, args, {
    env: { PATH: process.env.PATH, HOME: dataDir, ...environment } as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  t.after(() => child.kill('SIGKILL'))
  const chunks: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk))
  const output = () => chunks.join('')
  while (!STARTED.test(output())) {
    await Promise.race([once(child.stdout, 'data'), exited])
    if (hasEnded(child)) assert.fail(`the server exited: ${output()}`)
  }
  const credentials = JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8'))

  async function end(signal: NodeJS.Signals): Promise<number | null> {
    if (!hasEnded(child)) child.kill(signal)
    await exited
    return child.exitCode
  }
  return {
    pid: child.pid!,
    url: credentials.api_url,
    apiKey: credentials.api_key,
    authtoken: credentials.authtoken,
    credentials,
    output,
    ended: () => exited.then(() => undefined),
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
