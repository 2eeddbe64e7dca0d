import assert from 'node:assert/strict'
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import ssh2, { type Client as LibraryClient } from 'ssh2'
import { tempDir } from '../support/api.ts'
import type { TestPlatform } from '../support/platform.ts'

const run = promisify(execFile)
const TOOLS = ['/usr/bin/ssh', '/usr/bin/ssh-keygen', '/usr/bin/ssh-keyscan']

/** Why tests with OpenSSH cannot run here, or false. */
export const withoutOpenSsh: string | false =
  TOOLS.filter((tool) => !existsSync(tool))
    .map((tool) => `there is no ${tool} here (Debian package openssh-client)`)
    .join(', ') || false

/** A key pair with its credential on the platform. */
export interface Identity {
  readonly keyFile: string
  readonly publicKey: string
  readonly credentialId: string
}

/** A running `ssh`. */
export interface SshClient {
  readonly process: ChildProcess
  /** What it has written so far, standard output and error together. */
  output(): string
  /** Resolves once the output matches. */
  says(pattern: RegExp, deadlineMs?: number): Promise<RegExpExecArray>
  /** Resolves with the exit status. */
  ended(deadlineMs?: number): Promise<number | null>
}

/** Makes a key and stores it as an SSH credential. */
export async function makeIdentity(
  t: TestContext,
  platform: TestPlatform,
  options: { acl?: string[]; type?: string[] } = {},
): Promise<Identity> {
  const keyFile = join(await tempDir(t), 'id')
  execFileSync('ssh-keygen', ['-q', ...(options.type ?? ['-t', 'ed25519']), '-N', '', '-f', keyFile])
  const publicKey = (await readFile(`${keyFile}.pub`, 'utf8')).trim()
  const { id } = await platform.call.create('/ssh_credentials', {
    public_key: publicKey,
    ...(options.acl && { acl: options.acl }),
  })
  return { keyFile, publicKey, credentialId: id }
}

/** The arguments that make `ssh` use this key against this platform and nothing of the machine's own settings. */
export function sshArgs(platform: TestPlatform, { keyFile }: Pick<Identity, 'keyFile'>): string[] {
  const [host = '', port = ''] = platform.credentials.ssh_addr.split(':')
  const options = [
    'BatchMode=yes',
    'StrictHostKeyChecking=no',
    'UserKnownHostsFile=/dev/null',
    'LogLevel=INFO',
    'IdentitiesOnly=yes',
    'IdentityAgent=none',
    'ConnectTimeout=10',
  ]
  const flags = options.flatMap((option) => ['-o', option])
  return ['-F', 'none', ...flags, '-i', keyFile, '-p', port, '-l', 'anyone', host]
}

/** Starts `ssh`; flags go before the host name, words after it. */
export function startSsh(
  t: TestContext,
  platform: TestPlatform,
  identity: Pick<Identity, 'keyFile'>,
  flags: readonly string[],
  words: readonly string[] = [],
): SshClient {
  const args = [...flags, ...sshArgs(platform, identity), ...words]
  const child = spawn('ssh', args, { stdio: ['pipe', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  const exited = once(child, 'exit')
  const heard = (chunk: Buffer) => {
    output += chunk
  }
  child.stdout.on('data', heard)
  child.stderr.on('data', heard)
  const deadline = <T>(what: string, wanted: Promise<T>, ms: number): Promise<T> => {
    const late = new Promise<never>((_resolve, reject) => {
      setTimeout(() => reject(new Error(`Not within ${ms} ms: ${what}. Output:\n${output}`)), ms).unref()
    })
    return Promise.race([wanted, late])
  }
  const matching = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(output)
        if (match !== null) resolve(match)
      }
      child.stdout.on('data', look)
      child.stderr.on('data', look)
      child.once('close', () => {
        look()
        reject(new Error(`ssh ended without saying ${pattern}. Output:\n${output}`))
      })
      look()
    })
  return {
    process: child,
    output: () => output,
    says: (pattern, ms = 10_000) => deadline(`ssh says ${pattern}`, matching(pattern), ms),
    ended: async (ms = 10_000) => {
      const [status] = await deadline('ssh ends', exited, ms)
      return status as number | null
    },
  }
}

/** The one line with a public address that `ssh` shows. */
export async function urlShownBy(client: SshClient, scheme = '[a-z]+'): Promise<string> {
  const [, url] = await client.says(new RegExp(`(${scheme}://\\S+) ->`))
  assert.ok(url)
  return url
}

/** An HTTP service of the user's. */
export async function startHttp(t: TestContext, handler: RequestListener): Promise<number> {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A TCP service of the user's; the sockets it was given are ended with the test. */
export async function startTcp(t: TestContext, serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    serve(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** What `ssh-keyscan` sees of the gateway, sorted. */
export async function keyscan(platform: TestPlatform): Promise<string[]> {
  const [host = '', port = ''] = platform.credentials.ssh_addr.split(':')
  const { stdout } = await run('ssh-keyscan', ['-T', '5', '-p', port, host])
  return stdout
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .sort()
}

/** Writes a file that goes away with the test. */
export async function tempFile(t: TestContext, name: string, content: string): Promise<string> {
  const file = join(await tempDir(t), name)
  await writeFile(file, content, { mode: 0o600 })
  return file
}

/** A logged-in client of another make: it asks for things that OpenSSH does not ask for. */
export async function connectLibrary(t: TestContext, platform: TestPlatform): Promise<LibraryClient> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'sec1', format: 'pem' }).toString()
  const parsed = ssh2.utils.parseKey(pem)
  assert.ok(!(parsed instanceof Error))
  const text = `ecdsa-sha2-nistp256 ${parsed.getPublicSSH().toString('base64')}`
  await platform.call.create('/ssh_credentials', { public_key: text })
  const [host = '', port = ''] = platform.credentials.ssh_addr.split(':')
  const client = new ssh2.Client()
  t.after(() => client.destroy())
  client.connect({ host, port: Number(port), username: 'x', privateKey: pem })
  await once(client, 'ready')
  client.on('error', () => {})
  return client
}
