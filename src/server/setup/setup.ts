import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, copyFile, mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { writeFileAtomic } from '../../base/process/atomic-file.ts'
import { CommandFailure } from '../../base/process/command-line.ts'
import { IS_EXECUTABLE } from '../../base/process/program-files.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { systemClock } from '../../base/values/clock.ts'
import type { Secret } from '../../base/values/secret.ts'
import type { DurableStore } from '../../store/index.ts'
import { PlatformAddresses } from '../addresses.ts'
import { CERTIFICATE_FILES, type CheckResult } from '../check/check.ts'
import { readCredentialsFile } from '../credentials-file.ts'
import { readAddedRelease } from '../downloads/downloads.ts'
import type { ListenerAddress } from '../settings/setting-values.ts'
import { certificatePaths, type ServerSettings, settingsFilePath } from '../settings/settings.ts'
import { withStore } from '../with-store.ts'
import { collectAnswers, confirm, DEFAULT_DATA_DIR } from './answers.ts'
import { formatSettingsFile, formatUnit } from './files.ts'

const UNIT = 'adit.service'
const USER = 'adit'
/** Where packages install units. */
const PACKAGED_UNITS = ['/usr/lib/systemd/system', '/lib/systemd/system']
const START_TIMEOUT_MS = 60_000
const CERTIFICATE_TIMEOUT_MS = 180_000
/** A certificate that waits for longer needs the operator, and the report says for what. */
const WAITING_TIMEOUT_MS = 60_000
const POLL_MS = 250

/** Options of `adit server setup`. */
export interface SetupOptions {
  /** The settings that flags and variables set, as text by flag. */
  readonly explicit: ReadonlyMap<string, string>
  /** Asks nothing, and continues although checks of the network failed. */
  readonly yes: boolean
  /** Prints the files and changes nothing. */
  readonly print: boolean
  readonly environment: NodeJS.ProcessEnv
}

/** Runs `adit server setup`: asks, checks, writes the settings and the unit, starts the service and waits for it. */
export async function runSetup(options: SetupOptions, print: (text: string) => void): Promise<void> {
  const { explicit, yes, environment } = options
  const interactive = !yes && process.stdin.isTTY === true && process.stdout.isTTY === true
  const { values, settings } = await collectAnswers(explicit, { interactive })
  const settingsFile = settingsFilePath(environment)
  const unitFile = join(environment.ADIT_UNIT_DIR || '/etc/systemd/system', UNIT)
  const settingsText = formatSettingsFile(values)
  const unitText = formatUnit({ settingsFile, dataDir: settings.dataDir })
  if (options.print) {
    print(`# ${settingsFile}\n${settingsText}\n# ${unitFile}\n${unitText}`)
    return
  }
  if (process.getuid?.() !== 0)
    throw new CommandFailure(
      'Setup writes to /etc and starts a service, so it must run as root: sudo adit server setup. --print shows what it would write.',
    )

  if (!hasSystemd())
    throw new CommandFailure(
      'This machine has no systemd, so the set-up cannot start a service; nothing was changed. adit server setup --print shows the settings and the command for another service manager.',
    )

  print(`Checking ${settings.domain}`)
  const isRunning = run('systemctl', ['is-active', '--quiet', UNIT]).status === 0
  await checkMachine(settings, { yes, interactive, isRunning }, print)

  ensureUser()
  await mkdir(join(settingsFile, '..'), { recursive: true, mode: 0o755 })
  if (existsSync(settingsFile)) await copyFile(settingsFile, `${settingsFile}.bak`)
  await writeFileAtomic(settingsFile, settingsText, 0o640)
  await chown(settingsFile, 0, groupId())
  print(`Wrote ${settingsFile}`)
  if (usesPackagedUnit(settings)) print(`Using the unit ${UNIT} of the installed package`)
  else {
    await writeFileAtomic(unitFile, unitText, 0o644)
    print(`Wrote ${unitFile}`)
  }

  requireSuccess('systemctl', ['daemon-reload'])
  requireSuccess('systemctl', ['enable', UNIT])
  requireSuccess('systemctl', ['restart', UNIT])
  print(`Starting ${UNIT}`)
  await finish(settings, await waitUntilReady(settings), print)
}

/** In containers the program is there, but systemd does not run. */
function hasSystemd(): boolean {
  const { error, stdout } = run('systemctl', ['is-system-running'])
  return error === undefined && stdout.trim() !== 'offline'
}

/** The unit of a package lets the server write to the default directory alone. */
function usesPackagedUnit({ dataDir }: ServerSettings): boolean {
  return dataDir === DEFAULT_DATA_DIR && PACKAGED_UNITS.some((directory) => existsSync(join(directory, UNIT)))
}

/** Without its ports and its database the server could not start. The rest may follow later, and is explained. */
async function checkMachine(
  settings: ServerSettings,
  { yes, interactive, isRunning }: { yes: boolean; interactive: boolean; isRunning: boolean },
  print: (text: string) => void,
): Promise<void> {
  const { runDatabaseCheck, runNetworkChecks } = await import('../check/system-probes.ts')
  const { formatResults } = await import('../check/check.ts')
  const ports = isRunning ? [] : await checkFreePorts(settings)
  const database = await runDatabaseCheck(settings)
  const network = await runNetworkChecks(settings)
  print(formatResults([...ports, ...database, ...network]))
  const files = network.find(({ check }) => check === CERTIFICATE_FILES)
  if (files?.state === 'failed')
    throw new CommandFailure('The server cannot start without its certificate; nothing was changed.')
  if (ports.some(({ state }) => state === 'failed'))
    throw new CommandFailure('The server cannot start while its ports are in use; nothing was changed.')
  if (database.some(({ state }) => state === 'failed'))
    throw new CommandFailure('The server cannot start without its database; nothing was changed.')
  if (!network.some(({ state }) => state === 'failed') || yes) return
  if (!(interactive && (await confirm('Continue? Certificates will be issued once the records are right'))))
    throw new CommandFailure(
      'Fix what failed and run setup again; nothing was changed. To continue anyway, add --yes: certificates will be issued once the records are right.',
    )
}

/** Whether each listener can be bound on this machine. */
async function checkFreePorts(settings: ServerSettings): Promise<CheckResult[]> {
  const { httpAddr, httpsAddr, agentAddr, sshAddr, dnsAddr, apiAddr } = settings
  const listeners = {
    http: httpAddr,
    https: httpsAddr,
    agent: agentAddr,
    ssh: sshAddr,
    dns: dnsAddr,
    api: apiAddr,
  }
  return Promise.all(
    Object.entries(listeners).flatMap(([name, address]) =>
      address === undefined ? [] : [checkFreePort(name, address)],
    ),
  )
}

async function checkFreePort(name: string, { host, port }: ListenerAddress): Promise<CheckResult> {
  const check = `${name} port is free`
  try {
    await new Promise<void>((resolve, reject) => {
      const server = createServer()
      server.once('error', reject)
      server.listen({ host, port, exclusive: true }, () => server.close(() => resolve()))
    })
    return { check, state: 'ok', detail: `${host}:${port}` }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const detail = code === 'EADDRINUSE' ? `${host}:${port} is in use` : errorMessage(error)
    return {
      check,
      state: 'failed',
      detail,
      remedy: `Stop the program that listens there (ss -ltnp 'sport = :${port}'), or choose another address with --${name}-addr.`,
    }
  }
}

/** The addresses of a server that is ready. */
interface ReadyServer {
  readonly dashboardUrl: string
  /** Null where another process is the gateway. */
  readonly agentAddress: string | null
}

/** Waits until everything is well in the service. */
async function waitUntilReady({ dataDir }: ServerSettings): Promise<ReadyServer> {
  const deadline = performance.now() + START_TIMEOUT_MS
  while (performance.now() < deadline) {
    const { api_url, dashboard_url, public_agent_addr } = (await readCredentialsFile(dataDir)) ?? {}
    // Without a listener of the API, the file alone says that the start is complete.
    const isReady =
      api_url === '' || (await fetch(`${api_url}/readyz?strict`).catch(() => undefined))?.ok === true
    if (isReady && typeof dashboard_url === 'string')
      return { dashboardUrl: dashboard_url, agentAddress: public_agent_addr ?? null }
    await delay(POLL_MS)
  }
  throw new CommandFailure(
    `The server was not ready within ${START_TIMEOUT_MS / 1000} seconds. Its log says why: journalctl -u ${UNIT}`,
  )
}

/** Waits for the certificate, checks what visitors see, then prints where dashboard and agents connect and how to get in. */
async function finish(
  settings: ServerSettings,
  { dashboardUrl, agentAddress }: ReadyServer,
  print: (text: string) => void,
): Promise<void> {
  await withStore(settings, async (store) => {
    const paths = certificatePaths(settings)
    if (paths === undefined) {
      print('Waiting for the certificate')
      print(`  ${await waitForCertificate(store)}`)
    } else print(`Serving the certificate in ${paths.certFile}`)
    const { runCheck } = await import('../check/system-probes.ts')
    const { formatResults } = await import('../check/check.ts')
    print(`\nChecking the server from outside\n${formatResults((await runCheck(settings)).results)}`)
    const link = await createAdminLink(store, settings, dashboardUrl)
    print(`\nAdit is ready.\n  Dashboard   ${dashboardUrl}`)
    if (agentAddress !== null) print(`  Agents      ${agentAddress}`)
    if (await handsOutAgents(settings)) {
      const addresses = new PlatformAddresses(settings)
      addresses.setEdge(undefined, undefined)
      print(`  Agent       curl -fsS ${addresses.downloadUrl}/install.sh | sh`)
    }
    print(`  Settings    adit server --help, then systemctl restart ${UNIT}`)
    if (link !== undefined)
      print(
        `\nSet your dashboard password with this link, which works once, within 24 hours:\n  ${link.reveal()}\nadit server admin-link prints another.`,
      )
  })
}

async function handsOutAgents({ downloads, dataDir }: ServerSettings): Promise<boolean> {
  return downloads && (IS_EXECUTABLE || (await readAddedRelease(dataDir)) !== undefined)
}

/** Waits for the platform's own certificate; returns its state, as a sentence. */
async function waitForCertificate(store: DurableStore): Promise<string> {
  const { reportCertificates } = await import('../../certs/index.ts')
  const deadline = performance.now() + CERTIFICATE_TIMEOUT_MS
  let waitingSince = performance.now()
  for (;;) {
    const reports = await reportCertificates(store, { now: systemClock.now(), acmeEnabled: true })
    const platform = reports.find(({ id }) => id === 'platform')
    if (platform?.state !== 'waiting') waitingSince = performance.now()
    const isSettled =
      platform?.state === 'valid' ||
      platform?.state === 'given up' ||
      performance.now() - waitingSince > WAITING_TIMEOUT_MS
    if (isSettled || performance.now() >= deadline)
      return platform === undefined
        ? 'Not requested yet; adit server certs shows the progress.'
        : `${platform.domain}: ${platform.says}`
    await delay(POLL_MS)
  }
}

/** A link for the administrator that the first start created; none if someone has set a password before. */
async function createAdminLink(
  store: DurableStore,
  { domain }: ServerSettings,
  dashboardUrl: string,
): Promise<Secret | undefined> {
  const { createPasswordLink, createPasswords, findUsersByEmail } = await import('../../dashboard/index.ts')
  const [user] = await findUsersByEmail(store, `admin@${domain}`)
  if (user === undefined) return undefined
  const dependencies = { store, passwords: createPasswords(), clock: systemClock }
  return (await createPasswordLink(dependencies, user, dashboardUrl)).url
}

/** The user that the service runs as. */
function ensureUser(): void {
  if (run('getent', ['passwd', USER]).status === 0) return
  requireSuccess('useradd', [
    ...['--system', '--user-group', '--no-create-home', '--home-dir', '/var/lib/adit'],
    ...['--shell', '/usr/sbin/nologin', USER],
  ])
}

function groupId(): number {
  const { stdout } = run('getent', ['group', USER])
  return Number(stdout.split(':')[2] ?? 0)
}

function run(command: string, args: readonly string[]) {
  return spawnSync(command, args, { encoding: 'utf8' })
}

function requireSuccess(command: string, args: readonly string[]): void {
  const { status, error, stderr } = run(command, args)
  const line = [command, ...args].join(' ')
  if (error !== undefined) throw new CommandFailure(`${command} was not found.`)
  if (status !== 0) throw new CommandFailure(`${line} failed: ${stderr.trim() || `exit code ${status}`}`)
}
