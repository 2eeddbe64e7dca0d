import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { Secret } from '../../src/base/values/secret.ts'
import { type AgentSession, connectAgentSession } from '../../src/protocol/index.ts'
import type { Credentials } from './platform.ts'

/** Where an agent connects. */
export interface AgentServer {
  readonly host: string
  readonly port: number
  readonly ca: string
}

/** Connects an agent that is no more than a session; `previous` is what the response to its last connection said. */
export function connectLightAgent(
  server: AgentServer,
  authtoken: string,
  { previous = { clientId: '', cookie: '' }, onClose = () => {} } = {},
): Promise<AgentSession> {
  return connectAgentSession({
    ...server,
    servername: 'localhost',
    identity: {
      authtoken: new Secret(authtoken),
      ...previous,
      version: '0.0.0',
      userAgent: 'light-agent/0.0.0',
      clientType: 'light-agent',
      os: 'linux',
      arch: 'x64',
      commands: { restart: 'no', stop: 'no', update: 'no' },
    },
    onProxy: (_header, stream) => stream.reset(),
    onCommand: async () => {},
    onClose,
  })
}

/** Agents in a child process, each no more than a session. */
export interface LightAgents {
  readonly online: number
  stop(): void
}

/** Starts `count` agents in one child process; they stop with the test. With a name, each binds one of its own that ends with it. */
export function startLightAgents(
  t: TestContext,
  server: Credentials,
  count: number,
  name?: string,
): LightAgents {
  const [host = '', port = ''] = server.agent_addr.split(':')
  const program = join(import.meta.dirname, '..', 'long', 'light-agents.ts')
  const args = [
    program,
    host,
    port,
    server.ca_file,
    server.authtoken,
    String(count),
    ...(name === undefined ? [] : [name]),
  ]
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
