import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import type { Credentials } from './platform.ts'

/** Agents in a child process, each no more than a session. */
export interface LightAgents {
  readonly online: number
  stop(): void
}

/** Starts `count` agents in one child process; they stop with the test. */
export function startLightAgents(t: TestContext, server: Credentials, count: number): LightAgents {
  const [host = '', port = ''] = server.agent_addr.split(':')
  const program = join(import.meta.dirname, '..', 'long', 'light-agents.ts')
  const args = [program, host, port, server.ca_file, server.authtoken, String(count)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  let online = 0
  createInterface({ input: child.stdout }).on('line', (line) => {
    online = Number(line)
  })
  return {
    get online() {
      return online
    },
    stop: () => void child.kill('SIGKILL'),
  }
}
