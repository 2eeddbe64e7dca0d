import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { childrenOf } from './worker-processes.ts'

/** Longer than any test: what is held ends with `release`. */
const HELD_MICROSECONDS = 600_000_000

/**
 * Holds every flush to the disk by a server and its workers until it is released. Where system calls cannot be traced, skips
 * the test with the reason and returns undefined.
 */
export async function holdSyncs(
  t: TestContext,
  pid: number,
): Promise<{ release(): Promise<void> } | undefined> {
  const inject = ['fsync', 'fdatasync'].flatMap((call) => [
    '-e',
    `inject=${call}:delay_enter=${HELD_MICROSECONDS}`,
  ])
  const pids = [pid, ...childrenOf(pid)].flatMap((each) => ['-p', String(each)])
  const strace = spawn(
    'strace',
    ['-f', '-e', 'trace=fsync,fdatasync', ...inject, '-o', '/dev/null', ...pids],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  t.after(() => strace.kill('SIGKILL'))
  const failure = await attached(strace)
  if (failure !== undefined) {
    t.skip(`system calls cannot be traced here: ${failure}`)
    return undefined
  }
  return {
    async release() {
      const exit = once(strace, 'exit')
      strace.kill('SIGINT')
      await exit
    },
  }
}

/** Resolves once it traces, to nothing, or to why it cannot. */
async function attached(strace: ChildProcess): Promise<string | undefined> {
  let output = ''
  strace.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
  })
  const ended = Promise.race([once(strace, 'exit'), once(strace, 'error')]).then(() => true)
  while (!/Process \d+ attached/.test(output)) {
    const hasEnded = await Promise.race([once(strace.stderr!, 'data').then(() => false), ended])
    if (hasEnded) return output.trim() || 'strace is not installed'
  }
  return undefined
}
