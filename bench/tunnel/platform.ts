import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Candidate } from './candidates.ts'
import { startProgram } from './processes.ts'
import type { BenchUpstream } from './upstream.ts'

const ADIT_PROGRAM = join(import.meta.dirname, '..', '..', 'bin', 'adit')
const LISTENERS = ['api', 'http', 'https', 'agent', 'ssh']

/** Our server with its own home directory. */
export interface BenchPlatform {
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
): Promise<BenchPlatform> {
  const home = join(dir, 'home')
  mkdirSync(home)
  const dataDir = join(home, 'data')
  const env = { PATH: process.env.PATH, HOME: home, ADIT_DATA_DIR: dataDir, ...extraEnv }
  const addresses = LISTENERS.flatMap((name) => [`--${name}-addr`, '127.0.0.1:0'])
  const flags = [...addresses, '--dns-addr', 'false', '--log-level', 'error', ...extraFlags]
  const edge = await startProgram(ADIT_PROGRAM, ['server', ...flags], { prints: /Adit is ready/ }, env)
  const credentials = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  return {
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
  { env }: BenchPlatform,
  dir: string,
  tunnels: Record<string, object>,
): Promise<number> {
  const file = join(dir, 'adit.yml')
  writeFileSync(file, JSON.stringify({ version: '2', web_addr: 'false', tunnels }), { mode: 0o600 })
  const prints = new RegExp(`(Forwarding[\\s\\S]*){${Object.keys(tunnels).length}}`)
  return startProgram(ADIT_PROGRAM, ['start', '--all', `--config=${file}`], { prints }, env)
}

/** Our server with our agent, the official SDK and a plain SSH client. Agent links use TLS, as always. */
export async function startAdit(dir: string, upstream: BenchUpstream): Promise<Candidate[]> {
  const platform = await startServer(dir)
  const { edge, env, credentials, port } = platform
  const tcpPorts = async () => {
    const { tunnels } = (await platform.call('GET', '/tunnels')) as {
      tunnels: { proto: string; public_url: string }[]
    }
    return tunnels
      .filter(({ proto }) => proto === 'tcp')
      .map((tunnel) => Number(new URL(tunnel.public_url).port))
  }

  const agent = await startAgent(platform, dir, {
    plain: { proto: 'http', addr: upstream.http, url: 'http://plain.adit.localhost', inspect: false },
    watched: { proto: 'http', addr: upstream.http, url: 'http://watched.adit.localhost' },
    raw: { proto: 'tcp', addr: upstream.tcp },
  })
  const [tcp] = await tcpPorts()
  const httpTarget = (name: string) => ({ port, host: `${name}.adit.localhost:${port}` })
  const candidates: Candidate[] = [
    { name: 'Adit', http: httpTarget('plain'), tcp: tcp!, parts: { edge, agent } },
    { name: 'Adit, inspecting', http: httpTarget('watched'), parts: { edge, agent } },
  ]

  const script = join(import.meta.dirname, 'sdk-agent.ts')
  const { agent_addr: server, ca_file: authority, authtoken } = credentials
  const args = [script, server, authority, authtoken, 'sdk.adit.localhost', upstream.http, upstream.tcp]
  const sdk = await startProgram(process.execPath, args.map(String), { prints: /ready/ }, env)
  const sdkTcp = (await tcpPorts()).find((other) => other !== tcp)
  candidates.push({
    name: 'official SDK',
    http: httpTarget('sdk'),
    tcp: sdkTcp!,
    parts: { edge, agent: sdk },
  })

  const client = await startSshClient(dir, upstream, platform)
  const sshTcp = (await tcpPorts()).find((other) => other !== tcp && other !== sdkTcp)
  candidates.push({ name: SSH_CLIENT, http: httpTarget('ssh'), tcp: sshTcp!, parts: { edge, agent: client } })
  return candidates
}

export const SSH_CLIENT = "OpenSSH client to Adit's gateway"

/** A plain `ssh -R` with a key registered through the API. */
async function startSshClient(
  dir: string,
  upstream: BenchUpstream,
  platform: BenchPlatform,
): Promise<number> {
  const key = join(dir, 'gateway_key')
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  await platform.call('POST', '/ssh_credentials', { public_key: readFileSync(`${key}.pub`, 'utf8').trim() })
  const [host = '', port = ''] = platform.credentials.ssh_addr!.split(':')
  return startProgram(
    'ssh',
    [
      ...['-N', '-F', 'none', '-p', port, '-i', key, '-l', 'bench'],
      ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null', '-o', 'BatchMode=yes'],
      ...[
        '-R',
        `ssh.adit.localhost:80:127.0.0.1:${upstream.http}`,
        '-R',
        `0:127.0.0.1:${upstream.tcp}`,
        host,
      ],
    ],
    { prints: /Allocated port/ },
  )
}
