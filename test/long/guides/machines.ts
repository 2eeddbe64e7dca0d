import assert from 'node:assert/strict'
import { type ExecFileSyncOptions, execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { createReadStream, createWriteStream, readFileSync } from 'node:fs'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { TestContext } from 'node:test'
import { createGzip } from 'node:zlib'
import { signRelease } from '../../../scripts/release/signature.ts'
import { VERSION } from '../../../src/base/version.ts'
import { createTempDir } from '../../support/temp-dir.ts'
import { createTestCa } from '../../support/test-ca.ts'
import { type Reader, startReader } from './reader.ts'

export const root = join(import.meta.dirname, '../../..')
const manual = readFileSync(join(root, 'docs/install.md'), 'utf8')

/** Guides use the ports and names of a real machine, so each runs in namespaces of its own. */
function namespaceError(): string | undefined {
  try {
    execFileSync('unshare', ['--net', '--mount', '--pid', '--fork', 'ip', 'link', 'set', 'lo', 'up'], {
      stdio: 'pipe',
    })
    return undefined
  } catch (error) {
    return `network and mount namespaces are not available: ${(error as Error).message.split('\n')[0]}`
  }
}

/** Why no machines can be made here; false when they can. */
export const skip = namespaceError() ?? false

/** What machines have from elsewhere: an authority, the records of the domain, and a release of this checkout for Linux. */
let shared: string

/** Makes it, before the tests of a file. */
export async function prepare(): Promise<void> {
  if (skip) return
  shared = createTempDir()
  execFileSync('chmod', ['755', shared])
  const ca = await createTestCa()
  const { cert, key } = await ca.issue('acme-v02.api.letsencrypt.org')
  const listener = await ca.issue('127.0.0.1')
  const pebble = {
    listenAddress: '127.0.0.1:14000',
    managementListenAddress: '127.0.0.1:15000',
    certificate: join(shared, 'pebble-cert.pem'),
    privateKey: join(shared, 'pebble-key.pem'),
    httpPort: 80,
    tlsPort: 443,
  }
  const files = {
    'authority.pem': ca.caPem,
    'cert.pem': cert,
    'key.pem': key,
    'pebble-cert.pem': listener.cert,
    'pebble-key.pem': listener.key,
    'pebble.json': JSON.stringify({ pebble }),
    records: findText(/these records in the DNS zone of[\s\S]*?```\n([\s\S]*?)```/),
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(shared, name), text)
  await createRelease(join(shared, 'RELEASE'))
}

/** A part of docs/install.md that a reader takes from it. */
function findText(pattern: RegExp): string {
  const match = pattern.exec(manual)
  assert.ok(match !== null, `docs/install.md has nothing like ${pattern}`)
  return match[1]!
}

async function createRelease(release: string): Promise<void> {
  await mkdir(release)
  const platform = `linux-${process.arch}`
  const options: ExecFileSyncOptions = { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }
  if (process.env.DOCS_NO_BUILD === undefined)
    execFileSync(process.execPath, ['scripts/build-executables.ts', '--no-compress', platform], options)
  const executable = `adit-${VERSION}-${platform}`
  const packed = createWriteStream(join(release, `${executable}.gz`))
  await pipeline(
    createReadStream(join(root, 'dist/executables', executable)),
    createGzip({ level: 1 }),
    packed,
  )
  execFileSync(process.execPath, ['scripts/build-deb.ts', '--no-build', '--fast'], options)
  await copyFile(join(root, `dist/adit_${VERSION}_amd64.deb`), join(release, `adit_${VERSION}_amd64.deb`))
  execFileSync('npm', ['pack', '--silent', '.', './dist/adit-agent', '--pack-destination', release], options)
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  await signRelease(release, VERSION, privateKey)
  await writeFile(join(shared, 'release.pub'), publicKey.export({ type: 'spki', format: 'pem' }))
  await copyFile(join(root, 'scripts/install.sh'), join(shared, 'install.sh'))
}

/** The address of the documents is none that can be reached. */
export const NOT_PUBLIC = new Set(['FAILED  public addresses      not reachable from outside: 203.0.113.10'])
export const failedChecks = (report: string) => new Set(report.match(/^FAILED .*$/gm))

/** Machines that have nothing yet. */
export const startMachines = (t: TestContext, system?: string): Reader => startReader(t, shared, system)

/** Machines of which one has become a server, by the commands of the documents. */
export async function startWithServer(t: TestContext, system?: string) {
  const reader = startMachines(t, system)
  const install = findText(/^(sudo sh install\.sh --key release\.pub RELEASE)\b/m)
  const setup = findText(/`sudo (adit server setup --yes --domain \S+ --acme-email [^\s`]+)`/)
  const addRelease = findText(/^(sudo adit server downloads add RELEASE release\.pub)$/m)
  await reader.type('server', `ln -s ${shared}/{RELEASE,release.pub,install.sh} .`)
  await reader.type('server', install)
  // Only a public address is found by itself and can be reached, and that of the documents is none.
  const report = await reader.type('server', `sudo ${setup} --public-ips 203.0.113.10`)
  await reader.type('server', addRelease)
  return { reader, report }
}
