import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Candidate } from './candidates.ts'
import { start } from './processes.ts'
import type { Upstream } from './upstream.ts'

const adit = join(import.meta.dirname, '..', '..', 'bin', 'adit')
const LISTENERS = ['api', 'http', 'https', 'agent', 'ssh']

/** Our server with our own agent, the official SDK and a plain SSH client. TLS on the agent links, as always. */
export async function startAdit(dir: string, upstream: Upstream): Promise<Candidate[]> {
  const home = join(dir, 'home')
  mkdirSync(home)
  const dataDir = join(home, 'data')
  const env = { PATH: process.env.PATH, HOME: home, ADIT_DATA_DIR: dataDir }
  const addresses = LISTENERS.flatMap((name) => [`--${name}-addr`, '127.0.0.1:0'])
  const flags = [...addresses, '--dns-addr', 'false', '--log-level', 'error']
  const edge = await start(adit, ['server', ...flags], { says: /Adit is ready/ }, env)
  const credentials = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'))
  const port = Number(new URL(credentials.http_url).port)
  const tcpPorts = async () => {
    const headers = { authorization: `Bearer ${credentials.api_key}` }
    const answer = await fetch(`${credentials.api_url}/tunnels`, { headers })
    const { tunnels } = (await answer.json()) as { tunnels: { proto: string; public_url: string }[] }
    return tunnels
      .filter(({ proto }) => proto === 'tcp')
      .map((tunnel) => Number(new URL(tunnel.public_url).port))
  }

  const file = join(dir, 'adit.yml')
  writeFileSync(
    file,
    JSON.stringify({
      version: '2',
      web_addr: 'false',
      tunnels: {
        plain: { proto: 'http', addr: upstream.http, url: 'http://plain.adit.localhost', inspect: false },
        watched: { proto: 'http', addr: upstream.http, url: 'http://watched.adit.localhost' },
        raw: { proto: 'tcp', addr: upstream.tcp },
      },
    }),
    { mode: 0o600 },
  )
  const agent = await start(
    adit,
    ['start', '--all', `--config=${file}`],
    { says: /(Forwarding[\s\S]*){3}/ },
    env,
  )
  const [tcp] = await tcpPorts()
  const at = (name: string) => ({ port, host: `${name}.adit.localhost:${port}` })
  const ours: Candidate[] = [
    { name: 'Adit', http: at('plain'), tcp: tcp!, parts: { edge, agent } },
    { name: 'Adit, inspecting', http: at('watched'), parts: { edge, agent } },
  ]

  const script = join(import.meta.dirname, 'sdk-agent.ts')
  const { agent_addr: server, ca_file: authority, authtoken } = credentials
  const args = [script, server, authority, authtoken, 'sdk.adit.localhost', upstream.http, upstream.tcp]
  const sdk = await start(process.execPath, args.map(String), { says: /ready/ }, env)
  const sdkTcp = (await tcpPorts()).find((other) => other !== tcp)
  ours.push({ name: 'official SDK', http: at('sdk'), tcp: sdkTcp!, parts: { edge, agent: sdk } })

  const client = await startSshClient(dir, upstream, credentials)
  const sshTcp = (await tcpPorts()).find((other) => other !== tcp && other !== sdkTcp)
  ours.push({ name: SSH_CLIENT, http: at('ssh'), tcp: sshTcp!, parts: { edge, agent: client } })
  return ours
}

export const SSH_CLIENT = "OpenSSH client to Adit's gateway"

/** Nothing but `ssh -R`, with a key that the API knows. */
async function startSshClient(
  dir: string,
  upstream: Upstream,
  credentials: { api_url: string; api_key: string; ssh_addr: string },
): Promise<number> {
  const key = join(dir, 'gateway_key')
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  const stored = await fetch(`${credentials.api_url}/ssh_credentials`, {
    method: 'POST',
    headers: { authorization: `Bearer ${credentials.api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ public_key: readFileSync(`${key}.pub`, 'utf8').trim() }),
  })
  if (!stored.ok) throw new Error(await stored.text())
  const [host = '', port = ''] = credentials.ssh_addr.split(':')
  return start(
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
    { says: /Allocated port/ },
  )
}
