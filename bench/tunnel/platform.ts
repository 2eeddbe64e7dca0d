import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Candidate } from './candidates.ts'
import type { Setting } from './forwards.ts'
import { createKey, startSshClient } from './peers/openssh.ts'
import { findFreePort, type Ready, startProgram } from './processes.ts'

/** The program of this checkout. */
export const ADIT_PROGRAM = join(import.meta.dirname, '..', '..', 'bin', 'adit')
const LISTENERS = ['api', 'http', 'https', 'agent', 'ssh']

/** Our server with its own home directory. */
export interface BenchPlatform {
  readonly program: string
  /** Its process group. */
  readonly edge: number
  readonly env: NodeJS.ProcessEnv
  readonly credentials: Readonly<Record<string, string>>
  /** The port of its HTTP listener. */
  readonly port: number
  /** Calls the management API. */
  call(method: string, path: string, body?: object): Promise<Record<string, unknown>>
}

export async function startServer(
  dir: string,
  extraFlags: readonly string[] = [],
  extraEnv: NodeJS.ProcessEnv = {},
  program = ADIT_PROGRAM,
): Promise<BenchPlatform> {
  const home = join(dir, 'home')
  mkdirSync(home, { recursive: true })
  const dataDir = join(home, 'data')
  const env = { PATH: process.env.PATH, HOME: home, ADIT_DATA_DIR: dataDir, ...extraEnv }
  const addresses = LISTENERS.flatMap((name) => [`--${name}-addr`, '127.0.0.1:0'])
  const flags = [...addresses, '--dns-addr', 'false', '--log-level', 'error', ...extraFlags]
  const edge = await startProgram(program, ['server', ...flags], { prints: /Adit is ready/ }, env)
  const credentials = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  return {
    program,
    edge,
    env,
    credentials,
    port: Number(new URL(credentials.http_url).port),
    async call(method, path, body) {
      const response = await fetch(`${credentials.api_url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${credentials.api_key}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
      return response.status === 204 ? {} : ((await response.json()) as Record<string, unknown>)
    },
  }
}

/** Starts our agent with these tunnels and returns its process group. */
export function startAgent(
  { program, env }: BenchPlatform,
  dir: string,
  tunnels: Record<string, object>,
): Promise<number> {
  const file = writeAgentConfig(dir, tunnels)
  return startProgram(...agentCommand(file, Object.keys(tunnels).length, program), env)
}

/** Writes a configuration file of our agent; returns its path. */
function writeAgentConfig(dir: string, tunnels: Record<string, object>, settings = {}): string {
  const file = join(dir, 'adit.yml')
  writeFileSync(file, JSON.stringify({ version: '2', web_addr: 'false', ...settings, tunnels }), {
    mode: 0o600,
  })
  return file
}

/** The command that starts our agent, and the output that tells that all its tunnels are bound. */
function agentCommand(file: string, tunnels: number, program = ADIT_PROGRAM): [string, string[], Ready] {
  const prints = new RegExp(`(Forwarding[\\s\\S]*){${tunnels}}`)
  return [program, ['start', '--all', `--config=${file}`], { prints }]
}

/** Our server with our agent, the official SDK and a plain SSH client. Agent links use TLS, as always. */
export async function startAdit(setting: Setting): Promise<Candidate[]> {
  const { dir, upstream, link } = setting
  const [agentPort, sshPort] = [await findFreePort(), await findFreePort()]
  const platform = await startServer(dir, [
    ...['--agent-addr', `${link.listenHost}:${agentPort}`, '--ssh-addr', `${link.listenHost}:${sshPort}`],
    // Its certificate names this address.
    ...['--agent-public-addr', `${link.dialHost}:${agentPort}`],
  ])
  await link.expose(agentPort)
  await link.expose(sshPort)
  const { edge, env, credentials } = platform
  const { authtoken, ca_file: authority } = credentials
  const serverAddress = `${link.dialHost}:${agentPort}`
  const knownPorts = new Set<number>()
  /** The port of the TCP tunnel that was bound last. */
  const newTcpPort = async () => {
    const { tunnels } = (await platform.call('GET', '/tunnels')) as {
      tunnels: { proto: string; public_url: string }[]
    }
    const port = tunnels
      .filter(({ proto }) => proto === 'tcp')
      .map((tunnel) => Number(new URL(tunnel.public_url).port))
      .find((candidate) => !knownPorts.has(candidate))!
    knownPorts.add(port)
    return port
  }
  const describe = async (
    candidate: string,
    name: string,
    parts: Candidate['parts'],
    { tcp = true, http2 = false } = {},
  ): Promise<Candidate> => {
    const target = (url: string) => {
      const port = Number(new URL(url).port)
      return { port, host: `${name}.adit.localhost:${port}` }
    }
    return {
      name: candidate,
      ...(upstream.http !== undefined && { http: target(credentials.http_url!) }),
      ...(upstream.http2 !== undefined && http2 && { http2: target(credentials.https_url!) }),
      ...(tcp && { tcp: await newTcpPort() }),
      parts,
    }
  }

  const web = (url: string, inspect: boolean) => ({ proto: 'http', addr: upstream.http, url, inspect })
  const file = writeAgentConfig(
    dir,
    {
      ...(upstream.http !== undefined && {
        plain: web('http://plain.adit.localhost', false),
        secure: web('https://plain.adit.localhost', false),
        inspected: web('http://inspected.adit.localhost', true),
      }),
      raw: { proto: 'tcp', addr: upstream.tcp },
    },
    { server_addr: serverAddress, authtoken, root_cas: authority },
  )
  const agent = await link.startRemote(...agentCommand(file, upstream.http === undefined ? 1 : 4), env)
  const candidates = [await describe('Adit', 'plain', { edge, agent }, { http2: true })]
  if (upstream.http !== undefined)
    candidates.push(await describe('Adit, inspecting', 'inspected', { edge, agent }, { tcp: false }))

  const script = join(import.meta.dirname, 'sdk-agent.ts')
  const args = [
    script,
    serverAddress,
    authority,
    authtoken,
    'sdk.adit.localhost',
    upstream.http ?? 0,
    upstream.tcp,
  ]
  const sdk = await link.startRemote(process.execPath, args.map(String), { prints: /ready/ }, env)
  candidates.push(await describe('official SDK', 'sdk', { edge, agent: sdk }))

  const key = createKey(dir, 'gateway_key')
  await platform.call('POST', '/ssh_credentials', { public_key: readFileSync(`${key}.pub`, 'utf8').trim() })
  const client = await startSshClient(
    setting,
    { port: sshPort, key, user: 'bench' },
    [
      ...(upstream.http === undefined ? [] : ['-R', `ssh.adit.localhost:80:127.0.0.1:${upstream.http}`]),
      ...['-R', `0:127.0.0.1:${upstream.tcp}`],
    ],
    { prints: /Allocated port/ },
  )
  candidates.push(await describe(SSH_CLIENT, 'ssh', { edge, agent: client }))
  return candidates
}

export const SSH_CLIENT = "OpenSSH client to Adit's gateway"
