import assert from 'node:assert/strict'
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import ssh2, { type Client as LibraryClient } from 'ssh2'
import type { TestPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'

const run = promisify(execFile)
const TOOLS = ['/usr/bin/ssh', '/usr/bin/ssh-keygen', '/usr/bin/ssh-keyscan']

/** The reason to skip tests that need OpenSSH, or false. */
export const openSshSkipReason: string | false =
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
  /** Standard output and standard error so far. */
  output(): string
  /** Resolves once the output matches. */
  waitForOutput(pattern: RegExp, deadlineMs?: number): Promise<RegExpExecArray>
  /** Resolves with the exit status. */
  waitForExit(deadlineMs?: number): Promise<number | null>
}

/** Creates a key and stores it as an SSH credential. */
export async function createIdentity(
  platform: Pick<TestPlatform, 'call'>,
  options: { acl?: string[]; type?: string[] } = {},
): Promise<Identity> {
  const keyFile = join(createTempDir(), 'id')
  execFileSync('ssh-keygen', ['-q', ...(options.type ?? ['-t', 'ed25519']), '-N', '', '-f', keyFile])
  const publicKey = (await readFile(`${keyFile}.pub`, 'utf8')).trim()
  const { id } = await platform.call.create('/ssh_credentials', {
    public_key: publicKey,
    ...(options.acl && { acl: options.acl }),
  })
  return { keyFile, publicKey, credentialId: id }
}

/** Returns the arguments that make `ssh` use this key with this platform and ignore the machine's configuration. */
export function sshArgs(
  platform: Pick<TestPlatform, 'credentials'>,
  { keyFile }: Pick<Identity, 'keyFile'>,
): string[] {
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

/** Starts `ssh`; flags go before the host name, the command after it. */
export function startSsh(
  t: TestContext,
  platform: Pick<TestPlatform, 'credentials'>,
  identity: Pick<Identity, 'keyFile'>,
  flags: readonly string[],
  command: readonly string[] = [],
): SshClient {
  const args = [...flags, ...sshArgs(platform, identity), ...command]
  const child = spawn('ssh', args, { stdio: ['pipe', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  const exited = once(child, 'exit')
  const collect = (chunk: Buffer) => {
    output += chunk
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  const withTimeout = <T>(description: string, promise: Promise<T>, ms: number): Promise<T> => {
    const timeout = new Promise<never>((_resolve, reject) => {
      setTimeout(
        () => reject(new Error(`Not within ${ms} ms: ${description}. Output:\n${output}`)),
        ms,
      ).unref()
    })
    return Promise.race([promise, timeout])
  }
  const waitForMatch = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const check = () => {
        const match = pattern.exec(output)
        if (match !== null) resolve(match)
      }
      child.stdout.on('data', check)
      child.stderr.on('data', check)
      child.once('close', () => {
        check()
        reject(new Error(`ssh ended without saying ${pattern}. Output:\n${output}`))
      })
      check()
    })
  return {
    process: child,
    output: () => output,
    waitForOutput: (pattern, ms = 10_000) => withTimeout(`ssh says ${pattern}`, waitForMatch(pattern), ms),
    waitForExit: async (ms = 10_000) => {
      const [status] = await withTimeout('ssh ends', exited, ms)
      return status as number | null
    },
  }
}

/** Waits for the public URL that `ssh` prints. */
export async function readUrl(client: SshClient, scheme = '[a-z]+'): Promise<string> {
  const [, url] = await client.waitForOutput(new RegExp(`(${scheme}://\\S+) ->`))
  assert.ok(url)
  return url
}

/** Starts a TCP service of the user and returns its port; its sockets close with the test. */
export async function startTcp(t: TestContext, handler: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    handler(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Returns the sorted host keys that `ssh-keyscan` finds. */
export async function scanHostKeys(platform: TestPlatform): Promise<string[]> {
  const [host = '', port = ''] = platform.credentials.ssh_addr.split(':')
  const { stdout } = await run('ssh-keyscan', ['-T', '5', '-p', port, host])
  return stdout
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .sort()
}

/** Writes a file with this name in a directory of its own. */
export async function tempFile(name: string, content: string): Promise<string> {
  const file = join(createTempDir(), name)
  await writeFile(file, content, { mode: 0o600 })
  return file
}

/** Connects an ssh2 client, which can send requests that OpenSSH does not. */
export async function connectSsh2Client(t: TestContext, platform: TestPlatform): Promise<LibraryClient> {
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
