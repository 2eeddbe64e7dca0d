import { mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { LAUNCH_COMMAND } from '../../base/version.ts'
import type { Agent } from '../agent.ts'
import type { Env } from '../config/paths.ts'
import type { SessionResumption } from '../connect/connection.ts'
import type { AgentTunnelSpec } from '../spec/spec.ts'
import type { Binding } from '../tunnels/tunnel.ts'

/**
 * The state a process passes to its replacement so that tunnels keep their names. The two may be different versions:
 * field names must not change.
 */
export interface ResumeState {
  session: SessionResumption
  specs: AgentTunnelSpec[]
  bindings: [name: string, binding: Binding][]
}

const VARIABLE = 'ADIT_RESUME'
const PREFIX = 'adit-resume-'

/**
 * Writes the state to a file that only this user can read, as it may contain keys and passwords; returns its path.
 */
export function writeResumeState(agent: Agent): string {
  const state: ResumeState = {
    session: agent.connection.resume,
    specs: [...new Set(agent.tunnels.list().map((tunnel) => tunnel.spec))],
    bindings: [...agent.tunnels.bindings()],
  }
  const path = join(mkdtempSync(join(tmpdir(), PREFIX)), 'state.json')
  writeFileSync(path, JSON.stringify(state), { mode: 0o600 })
  return path
}

/** Reads and removes the state of the previous process. */
export function consumeResumeState(env: NodeJS.ProcessEnv & Env): ResumeState | undefined {
  const path = env[VARIABLE]
  delete env[VARIABLE]
  if (path === undefined) return undefined
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ResumeState
  } catch {
    return undefined
  } finally {
    rmSync(path, { force: true })
    if (basename(dirname(path)).startsWith(PREFIX)) rmdirSync(dirname(path))
  }
}

/** Replaces this process with the installed version, under the same process id. */
export function reexec(statePath: string): void {
  process.execve?.(LAUNCH_COMMAND[0], [...LAUNCH_COMMAND, ...process.argv.slice(2)], {
    ...process.env,
    [VARIABLE]: statePath,
  })
}
