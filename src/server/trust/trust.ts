import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { CommandFailure } from '../../base/process/command-line.ts'
import { recordTrust } from '../../base/process/trusted-root.ts'
import {
  type CommandLine,
  detectStores,
  type RootCertificate,
  type System,
  type TrustStore,
} from './stores.ts'

/** What `adit server trust` is asked to do. */
export interface TrustRequest {
  /** The PEM file of a root; that of the data directory when undefined. */
  readonly file: string | undefined
  readonly dataDir: string
  readonly uninstall: boolean
  /** Show the commands instead of running them. */
  readonly print: boolean
  /** Include the store of Java. */
  readonly java: boolean
}

/** Installs or removes the private root in every store of this machine; one that fails does not keep the others from it. */
export async function runTrust(request: TrustRequest, print: (line: string) => void): Promise<void> {
  const { uninstall } = request
  const root = readRoot(request)
  const { stores, notes } = detectStores(thisSystem(process.env), root, request)
  if (request.print) {
    for (const line of formatPlan(root, stores, uninstall)) print(line)
    for (const note of notes) print(`# ${note}`)
    return
  }

  const failures: string[] = []
  let changes = 0
  for (const store of stores) {
    try {
      if (await changeStore(store, uninstall)) {
        changes++
        print(`${uninstall ? 'Removed from' : 'Trusted by'}: ${store.name}`)
      } else print(`${uninstall ? 'Not installed in' : 'Already trusted by'}: ${store.name}`)
    } catch (error) {
      failures.push(`${store.name}: ${(error as Error).message}`)
    }
  }
  for (const note of notes) print(note)
  if (failures.length > 0) throw new CommandFailure(failures.join('\n'))
  if (stores.length === 0)
    throw new CommandFailure('No trust store that can be changed was found on this machine.')
  recordTrust(root.file, !uninstall)
  if (changes > 0) print('Restart any open browsers.')
}

function readRoot({ file, dataDir }: TrustRequest): RootCertificate {
  const path = file === undefined ? join(dataDir, 'ca.pem') : resolve(file)
  let pem: Buffer
  try {
    pem = readFileSync(path)
  } catch {
    throw new CommandFailure(
      file === undefined
        ? `There is no private root in ${dataDir}. Start the server once, or set its data directory with --data-dir DIR. Run this as the user who runs the server: it calls sudo where needed.`
        : `${path} cannot be read.`,
    )
  }
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(pem)
  } catch {
    throw new CommandFailure(`${path} holds no certificate in PEM.`)
  }
  if (!certificate.ca)
    throw new CommandFailure(
      `${path} is a server certificate, not a root certificate; it cannot be trusted here.`,
    )
  const [, name = 'Adit private root'] = /^CN=(.+)$/m.exec(certificate.subject) ?? []
  if (!/^[\w .-]{1,64}$/.test(name))
    throw new CommandFailure(`${path} is not a private root of Adit: its name is "${name.slice(0, 64)}".`)
  return { file: path, name, sha1: certificate.fingerprint.replaceAll(':', '') }
}

function thisSystem(environment: NodeJS.ProcessEnv): System {
  return {
    platform: process.platform,
    home: environment.HOME || homedir(),
    javaHome: environment.JAVA_HOME,
    exists: existsSync,
    directories(path) {
      try {
        return readdirSync(path, { withFileTypes: true })
          .filter((entry) => entry.isDirectory())
          .map((entry) => entry.name)
      } catch {
        return []
      }
    },
    hasProgram: (name) => findProgram(name, environment) !== undefined,
  }
}

/** Programs of the administrator are found although users seldom have their directories on the PATH. */
const ADMINISTRATOR_DIRECTORIES = ['/usr/sbin', '/sbin']

function findProgram(name: string, { PATH = '' }: NodeJS.ProcessEnv): string | undefined {
  const suffix = process.platform === 'win32' ? '.exe' : ''
  return [...PATH.split(delimiter), ...ADMINISTRATOR_DIRECTORIES]
    .map((directory) => join(directory, name + suffix))
    .find((path) => existsSync(path))
}

/** Returns false when there was nothing to do. */
async function changeStore(store: TrustStore, uninstall: boolean): Promise<boolean> {
  if (store.isInstalled !== undefined && (uninstall || store.rejectsDuplicate)) {
    const { code } = await run(store.isInstalled, false)
    if ((code === 0) !== uninstall) return false
  }
  for (const command of uninstall ? store.uninstall : store.install) {
    const { code, output } = await run(command, store.needsRoot)
    if (code !== 0)
      throw new Error(
        `"${formatCommand(command)}" failed: ${output.trim().split('\n').at(-1) || `exit ${code}`}`,
      )
  }
  return true
}

const isRoot = () => process.getuid === undefined || process.getuid() === 0

async function run(command: CommandLine, needsRoot: boolean): Promise<{ code: number; output: string }> {
  const [program, ...args] = withSudo(command, needsRoot)
  const child = spawn(findProgram(program, process.env) ?? program, args, {
    // sudo asks for the password on the terminal itself.
    stdio: [needsRoot ? 'inherit' : 'ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  return new Promise((done) => {
    child.on('error', (error) => done({ code: 1, output: error.message }))
    child.on('close', (code) => done({ code: code ?? 1, output }))
  })
}

function withSudo(command: CommandLine, needsRoot: boolean): CommandLine {
  if (!needsRoot || isRoot()) return command
  if (findProgram('sudo', process.env) === undefined)
    throw new Error(`only root may change it. As root, run: ${formatCommand(command)}`)
  // Without a terminal sudo could not ask for the password, and would wait for it.
  return process.stdin.isTTY ? ['sudo', ...command] : ['sudo', '-n', ...command]
}

/** A shell script that does what the command would. */
function formatPlan(root: RootCertificate, stores: readonly TrustStore[], uninstall: boolean): string[] {
  const verb = uninstall ? 'Removes' : 'Trusts'
  return [
    `# ${verb} ${root.name} (${root.file}, SHA-1 ${root.sha1}).`,
    ...stores.flatMap((store) => [
      `# ${store.name}`,
      ...(uninstall ? store.uninstall : store.install).map(
        (command) => `${store.needsRoot && !isRoot() ? 'sudo ' : ''}${formatCommand(command)}`,
      ),
    ]),
  ]
}

function formatCommand(command: CommandLine): string {
  return command
    .map((word) => (/^[\w./:=,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ')
}
