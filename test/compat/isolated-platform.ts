// Runs a command beside a platform of its own and exits with its code:
//   node test/compat/isolated-platform.ts COMMAND...
// The platform is all that the command can reach. It owns ngrok.io and answers its names, and what wrappers download as
// `ngrok` is Adit in drop-in mode (docs/drop-in.md). Needs root, for the namespaces.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '../../src/agent/index.ts'
import { startServer } from '../../src/server/index.ts'
import { readSettings } from '../../src/server/settings/settings.ts'
import { createClient } from '../support/api.ts'
import type { Credentials } from '../support/platform.ts'

const ADIT = join(import.meta.dirname, '..', '..', 'bin', 'adit')
/** Where wrappers download the original. */
const DOWNLOAD_HOSTS = ['bin.ngrok.com', 'bin.equinox.io']
/** Names for suites that would reserve theirs elsewhere. */
const RESERVED_NAMES = { NGROK_HOSTNAME: 'compat.ngrok.io', NGROK_DOMAIN: 'reserved.compat.ngrok.io' }

const [program, ...args] = process.argv.slice(2)
if (program === undefined) throw new Error('Name the command to run beside the platform.')

if (process.env.COMPAT_DIR === undefined) process.exitCode = await enterNamespaces()
else process.exitCode = await runBesidePlatform(process.env.COMPAT_DIR, program, args)

/** Starts this program again where only loopback can be reached and names are looked up at the platform. */
async function enterNamespaces(): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'adit-compat-'))
  writeFileSync(join(dir, 'resolv.conf'), 'nameserver 127.0.0.1\n')
  writeFileSync(join(dir, 'hosts'), `127.0.0.1 localhost ${DOWNLOAD_HOSTS.join(' ')}\n`)
  const script = [
    'set -e',
    'ip link set lo up',
    ...['resolv.conf', 'hosts'].map((name) => `mount --bind '${join(dir, name)}' /etc/${name}`),
    'exec "$0" "$@"',
  ].join('\n')
  const command = ['sh', '-c', script, process.execPath, ...process.argv.slice(1)]
  try {
    return await runCommand('unshare', ['--net', '--mount', ...command], { ...process.env, COMPAT_DIR: dir })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function runBesidePlatform(dir: string, program: string, args: readonly string[]): Promise<number> {
  const flags = {
    ...{ 'data-dir': join(dir, 'data'), domain: 'ngrok.io', 'log-level': 'error' },
    ...{ 'api-rate-limit': '0', 'name-cooldown': '0' },
    ...{ 'http-addr': '127.0.0.1:80', 'https-addr': '127.0.0.1:443', 'dns-addr': '127.0.0.1:53' },
  }
  const server = await startServer(
    readSettings(
      Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]),
      {},
    ),
  )
  const credentials = server.credentials as Credentials
  const call = createClient(credentials.api_url, credentials.api_key)
  for (const domain of [...DOWNLOAD_HOSTS, ...Object.values(RESERVED_NAMES)])
    await call.create('/reserved_domains', { domain })
  const stopDownloads = await serveDownloads(dir, credentials)
  const code = await runCommand(program, args, clientEnvironment(dir, credentials))
  await stopDownloads()
  await server.stop()
  return code
}

async function runCommand(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const [code] = await once(child, 'exit')
  return code ?? 1
}

/**
 * Serves the archives that wrappers install from: a program called `ngrok` that starts this checkout by a link of that name,
 * or the single executable that COMPAT_EXECUTABLE names.
 */
async function serveDownloads(dir: string, credentials: Credentials): Promise<() => Promise<void>> {
  const link = join(dir, 'ngrok')
  symlinkSync(ADIT, link)
  const packed = join(dir, 'packed')
  mkdirSync(packed)
  const executable = process.env.COMPAT_EXECUTABLE
  if (executable !== undefined) copyFileSync(executable, join(packed, 'ngrok'))
  else writeFileSync(join(packed, 'ngrok'), `#!/bin/sh\nexec ${link} "$@"\n`, { mode: 0o755 })
  const archive = execFileSync('tar', ['-cz', '-C', packed, 'ngrok'], { maxBuffer: 256 * 1024 * 1024 })
  const zip = join(dir, 'ngrok.zip')
  spawnSync('python3', ['-m', 'zipfile', '-c', zip, join(packed, 'ngrok')])
  const zipped = existsSync(zip) ? readFileSync(zip) : archive
  const http = createServer(({ url = '' }, response) => response.end(url.endsWith('.zip') ? zipped : archive))
  await once(http.listen(0, '127.0.0.1'), 'listening')
  const { port } = http.address() as AddressInfo
  const { agent_addr: connectUrl, ca_file: rootCas, authtoken } = credentials
  const agent = await connect({ connectUrl, rootCas, authtoken })
  for (const host of DOWNLOAD_HOSTS) await agent.forward({ addr: port, url: `https://${host}` })
  return async () => {
    await agent.close()
    http.close()
  }
}

/** What clients need to reach the platform, trust it and be the account. */
function clientEnvironment(dir: string, credentials: Credentials): NodeJS.ProcessEnv {
  const home = join(dir, 'home')
  mkdirSync(home)
  return {
    ...process.env,
    HOME: home,
    SSL_CERT_FILE: credentials.ca_file,
    NODE_EXTRA_CA_CERTS: credentials.ca_file,
    ...javaEnvironment(dir, credentials.ca_file),
    ADIT_CONNECT_URL: credentials.agent_addr,
    ADIT_CONNECT_CAS: credentials.ca_file,
    ADIT_API_URL: credentials.api_url,
    NGROK_AUTHTOKEN: credentials.authtoken,
    NGROK_AUTHTOKEN_FREE: credentials.authtoken,
    NGROK_AUTHTOKEN_PAID: credentials.authtoken,
    NGROK_API_KEY: credentials.api_key,
    ...RESERVED_NAMES,
  }
}

/** Java reads its roots from a store of its own. */
function javaEnvironment(dir: string, caFile: string): NodeJS.ProcessEnv {
  const store = join(dir, 'roots.p12')
  const password = 'changeit'
  const args = ['-importcert', '-noprompt', '-alias', 'adit', '-file', caFile, '-keystore', store]
  if (spawnSync('keytool', [...args, '-storepass', password]).status !== 0) return {}
  const options = { trustStore: store, trustStorePassword: password }
  const flags = Object.entries(options).map(([name, value]) => `-Djavax.net.ssl.${name}=${value}`)
  return { JAVA_TOOL_OPTIONS: flags.join(' ') }
}
