import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { TestGateway } from '../../src/agent/testing/gateway.ts'
import { ADIT } from './adit-program.ts'
import { eventually } from './eventually.ts'

/** The agent program, started as users do. */
export interface AgentProcess {
  child: ChildProcess
  stdout: string
  stderr: string
  /** Waits until the condition holds for the output; fails with the output. */
  until(condition: (program: AgentProcess) => boolean): Promise<void>
  /** Waits for the exit code or the signal. */
  waitForExit(): Promise<number | string>
}

/** The environment of a user without any configuration. */
export function cleanEnv(home: string, more: Record<string, string> = {}): Record<string, string> {
  const { PATH = '' } = process.env
  return { PATH, HOME: home, ADIT_DATA_DIR: join(home, 'data'), ...more }
}

/** Flags that connect to a test gateway. */
export function gatewayFlags(gateway: TestGateway, home: string): string[] {
  const ca = join(home, 'ca.pem')
  writeFileSync(ca, gateway.ca)
  return [`--connect-url=localhost:${gateway.port}`, `--root-cas=${ca}`, `--authtoken=${gateway.token}`]
}

/** Starts the launcher and kills it after the test if it is still running. */
export function startProgram(
  t: TestContext,
  args: readonly string[],
  options: { env: Record<string, string>; launcher?: string; input?: string },
): AgentProcess {
  const child = spawn(options.launcher ?? ADIT, args, { env: options.env })
  t.after(() => child.kill('SIGKILL'))
  let code: number | string | undefined
  const program: AgentProcess = {
    child,
    stdout: '',
    stderr: '',
    async until(condition) {
      const describe = () => `condition not met (exit ${code}):\n${program.stdout}\n--\n${program.stderr}`
      await eventually(() => condition(program) || code !== undefined, describe)
      if (!condition(program)) throw new Error(describe())
    },
    async waitForExit() {
      if (code === undefined) await once(child, 'close')
      return code ?? 'unknown'
    },
  }
  child.stdout.on('data', (chunk) => {
    program.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    program.stderr += chunk
  })
  child.on('close', (exit, signal) => {
    code = exit ?? signal ?? 'unknown'
  })
  child.stdin.end(options.input ?? '')
  return program
}

/** Runs a command until it exits. */
export async function runProgram(
  t: TestContext,
  args: readonly string[],
  options: { env: Record<string, string>; launcher?: string; input?: string },
): Promise<{ code: number | string; stdout: string; stderr: string }> {
  const program = startProgram(t, args, options)
  const code = await program.waitForExit()
  return { code, stdout: program.stdout, stderr: program.stderr }
}
