import type { TestContext } from 'node:test'
import { type AgentProcess, cleanEnv, startProgram } from '../../src/agent/testing/program.ts'

/** A run of `adit server upgrade`. */
export interface Upgrade extends AgentProcess {
  /** Resolves once the new release serves and the former one drains, to the process id of the new one. */
  takenOver(): Promise<number>
}

/** Runs `adit server upgrade` beside a server. The new release ends with the test. */
export function startUpgrade(t: TestContext, dataDir: string, args: readonly string[] = []): Upgrade {
  const command = ['server', 'upgrade', '--data-dir', dataDir, ...args]
  const program = startProgram(t, command, { env: cleanEnv(dataDir) })
  return Object.assign(program, {
    async takenOver() {
      await program.until(({ stdout }) => /\(process \d+\)/.test(stdout))
      const pid = Number(/\(process (\d+)\)/.exec(program.stdout)?.[1])
      t.after(() => killIfRunning(pid))
      return pid
    },
  })
}

/** A release that was replaced by another has ended already. */
function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}
