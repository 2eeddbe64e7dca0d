/**
 * Wires all parts into one process and starts them. This folder may use every part; no part may use it. Start with
 * `startServer` below; `wiring/` creates the parts in four phases and says in which order they start and stop.
 * `settings.ts` declares flags and variables, `cli.ts` and `subcommands.ts` the command line, `check/` holds
 * `adit server check`. The other files belong to the process: its id, locks, addresses and
 * limits, `credentials.json`, and the host keys of the SSH gateway, where `certs`, `sessions` and `store` meet.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { CleanupStack } from '../base/cleanup-stack.ts'
import { createDirectory } from '../base/create-directory.ts'
import { failpoint } from '../base/failpoint.ts'
import { createLog } from '../base/log.ts'
import type { Secret } from '../base/secret.ts'
import { type CreatedAccount, createPasswordLink } from '../dashboard/index.ts'
import { type CredentialsFile, readCredentialsFile, writeCredentialsFile } from './credentials-file.ts'
import { startInOrder } from './lifecycle.ts'
import type { ServerSettings } from './settings.ts'
import { wireBackground } from './wiring/background.ts'
import { wireControl } from './wiring/control.ts'
import { type Foundation, type LogOf, openFoundation, type ServerLimits } from './wiring/foundation.ts'
import { startOrder } from './wiring/start-order.ts'
import { wireTraffic } from './wiring/traffic.ts'

export type { ServerLimits } from './wiring/foundation.ts'

/** A running platform. */
export interface RunningServer {
  readonly credentials: CredentialsFile
  /** The account created by the first start. */
  readonly createdAccount: CreatedAccount | undefined
  /** Why the database is unavailable, if the server started without it. */
  readonly databaseError: string | undefined
  /** Creates a one-time link with which the administrator of the created account sets a password. */
  createPasswordLink(): Promise<Secret | undefined>
  stop(): Promise<void>
}

/** How long a failed start waits for the components it had started. */
const CLEANUP_TIMEOUT_MS = 5_000

/**
 * Creates the parts, phase by phase: each phase gets what the phases before it created. Then starts them in order. A failed
 * start stops everything it had started before it throws.
 */
export async function startServer(
  settings: ServerSettings,
  limits: ServerLimits = {},
): Promise<RunningServer> {
  const processLog = createLog(settings.logLevel)
  const logOf: LogOf = (part) => processLog.child({ part })
  const cleanup = new CleanupStack()
  let serving = false
  createDirectory(settings.dataDir, 0o700)
  try {
    const foundation = await openFoundation(settings, limits, { cleanup, logOf })
    const background = await wireBackground(foundation)
    const traffic = await wireTraffic(foundation, background)
    const control = wireControl(foundation, background, traffic, () => serving)

    await startInOrder(cleanup, startOrder(foundation, background, traffic, control))
    serving = true
    const credentials = await publishCredentials(foundation)
    failpoint('server.start')
    return {
      credentials,
      createdAccount: foundation.createdAccount,
      databaseError: await foundation.store.check().then(
        () => undefined,
        (error: Error) => error.message,
      ),
      async createPasswordLink() {
        const { createdAccount: account, addresses } = foundation
        if (account === undefined) return undefined
        const user = { account: account.accountId, id: account.userId, email: account.email }
        return (await createPasswordLink(foundation, user, addresses.dashboardUrl)).url
      },
      stop() {
        serving = false
        return cleanup.run()
      },
    }
  } catch (error) {
    // Report why the start failed, not the errors of the cleanup.
    await Promise.race([cleanup.run(), delay(CLEANUP_TIMEOUT_MS, undefined, { ref: false })]).catch(
      (err: unknown) => logOf('server').error({ err }, 'cleanup after a failed start failed'),
    )
    throw error
  }
}

/** Writes `credentials.json`; keeps the addresses of roles that another process on this directory runs. */
async function publishCredentials({
  settings,
  addresses,
  createdAccount,
  caFile,
  logOf,
  hasRole,
}: Foundation): Promise<CredentialsFile> {
  const previous = await readCredentialsFile(settings.dataDir)
  const { http_url, https_url } = hasRole('edge') ? addresses.publicUrls : (previous ?? {})
  const credentials: CredentialsFile = {
    api_url: hasRole('api') ? addresses.listenerUrl : (previous?.api_url ?? ''),
    dashboard_url: hasRole('api') ? addresses.dashboardUrl : (previous?.dashboard_url ?? null),
    api_key: createdAccount?.apiKey.reveal() ?? previous?.api_key ?? null,
    authtoken: createdAccount?.authtoken.reveal() ?? previous?.authtoken ?? null,
    agent_addr: hasRole('gateway') ? addresses.agent : (previous?.agent_addr ?? null),
    ca_file: caFile,
    http_url: http_url ?? null,
    https_url: https_url ?? null,
    ssh_addr: hasRole('gateway') ? addresses.ssh : (previous?.ssh_addr ?? null),
  }
  await writeCredentialsFile(settings.dataDir, credentials).catch((err: unknown) => {
    // New secrets are stored nowhere else in clear text; on later starts only addresses are lost, and those are printed.
    if (createdAccount !== undefined) throw err
    logOf('server').warn({ err }, 'credentials.json not updated: its addresses may be outdated')
  })
  return credentials
}
