/**
 * Wires all parts and starts them; no part may use it. Begin with `startServer` below. `parts.ts` creates and starts the
 * parts of one process, `wiring/` has them in four phases and in the order in which they start and stop. `workers/` runs
 * traffic in processes of its own, whose program is `workers/worker-process.ts`, and `upgrade/` lets another release take over
 * from a running one. `settings/` declares flags and variables, `commands/` the command line of `adit server`,
 * `process/` what belongs to one process: its id, locks and the port of agents.
 */
import { failpoint } from '../base/process/failpoint.ts'
import type { Secret } from '../base/values/secret.ts'
import { type CreatedAccount, createPasswordLink, createPasswords } from '../dashboard/index.ts'
import { type CredentialsFile, readCredentialsFile, writeCredentialsFile } from './credentials-file.ts'
import { completeUpgrade, createHandOver, takeOver } from './hand-over.ts'
import { startParts, stopAfterFailure } from './parts.ts'
import type { ProcessListeners } from './process/agent-port.ts'
import type { ServerLimits } from './settings/server-limits.ts'
import type { ServerSettings } from './settings/settings.ts'
import type { RunningPredecessor } from './upgrade/predecessor.ts'
import type { HandOver } from './upgrade/successor.ts'
import type { Foundation } from './wiring/foundation.ts'
import type { Parts } from './wiring/start-order.ts'

export type { ServerLimits } from './settings/server-limits.ts'

/** A running platform. */
export interface RunningServer {
  readonly credentials: CredentialsFile
  /** The account created by the first start. */
  readonly createdAccount: CreatedAccount | undefined
  /** What is not well, as `/readyz?strict` says: it may have started without the database. */
  readonly notReady: string | undefined
  /** Creates a one-time link with which the administrator of the created account sets a password. */
  createPasswordLink(): Promise<Secret | undefined>
  /** What a release that replaces this one takes over. */
  readonly handOver: HandOver
  /** The release that this one replaced has ended: this one is the only one again. */
  completeUpgrade(): Promise<void>
  stop(): Promise<void>
}

/** Starts the server: its parts in this process, and those of traffic in workers if there are several. */
export async function startServer(
  settings: ServerSettings,
  limits: ServerLimits = {},
  {
    predecessor,
    early,
  }: { predecessor?: RunningPredecessor | undefined; early?: ProcessListeners | undefined } = {},
): Promise<RunningServer> {
  // Each worker takes over from one of the running release.
  const workers = predecessor === undefined ? settings.workers : (predecessor.workers?.count ?? 1)
  const { parts, stop } = await startParts({ ...settings, workers }, limits, { predecessor, early })
  const { foundation } = parts
  try {
    if (predecessor !== undefined) await takeOver(parts)
    const credentials = await publishCredentials(foundation)
    failpoint('server.start')
    return {
      credentials,
      createdAccount: foundation.createdAccount,
      notReady: await findUnreadiness(parts),
      async createPasswordLink() {
        const { createdAccount: account, addresses, store, clock, passwordCost } = foundation
        if (account === undefined) return undefined
        const user = { account: account.accountId, id: account.userId, email: account.email }
        const dependencies = { store, clock, passwords: createPasswords(passwordCost) }
        return (await createPasswordLink(dependencies, user, addresses.dashboardUrl)).url
      },
      handOver: createHandOver(parts),
      completeUpgrade: () => completeUpgrade(parts),
      stop,
    }
  } catch (error) {
    await stopAfterFailure(stop, foundation.logOf)
    throw error
  }
}

/** Asks as a prober would; a write that failed during the start is tried again. */
async function findUnreadiness({ control }: Parts): Promise<string | undefined> {
  const { status, body } = (await control?.api.probes.get('/readyz')?.(true)) ?? {}
  return status === 200 ? undefined : String(Reflect.get(body ?? {}, 'reason'))
}

/** Writes `credentials.json`; keeps the addresses of roles that another process on this directory runs. */
async function publishCredentials({
  settings,
  addresses,
  createdAccount,
  caFile,
  logOf,
  hasRole,
  workers,
}: Foundation): Promise<CredentialsFile> {
  const isEdge = hasRole('edge') || workers?.roles.has('edge')
  const isGateway = hasRole('gateway') || workers?.roles.has('gateway')
  const previous = await readCredentialsFile(settings.dataDir)
  const { http_url, https_url } = isEdge ? addresses.publicUrls : (previous ?? {})
  const credentials: CredentialsFile = {
    api_url: hasRole('api') ? addresses.listenerUrl : (previous?.api_url ?? ''),
    dashboard_url: hasRole('api') ? addresses.dashboardUrl : (previous?.dashboard_url ?? null),
    api_key: createdAccount?.apiKey.reveal() ?? previous?.api_key ?? null,
    authtoken: createdAccount?.authtoken.reveal() ?? previous?.authtoken ?? null,
    agent_addr: isGateway ? addresses.agent : (previous?.agent_addr ?? null),
    public_agent_addr: isGateway ? addresses.publicAgent : (previous?.public_agent_addr ?? null),
    ca_file: caFile,
    http_url: http_url ?? null,
    https_url: https_url ?? null,
    ssh_addr: isGateway ? addresses.ssh : (previous?.ssh_addr ?? null),
    public_ssh_addr: isGateway ? addresses.publicSsh : (previous?.public_ssh_addr ?? null),
  }
  await writeCredentialsFile(settings.dataDir, credentials).catch((err: unknown) => {
    // New secrets are stored nowhere else in clear text; on later starts only addresses are lost, and those are printed.
    if (createdAccount !== undefined) throw err
    logOf('server').warn({ err }, 'credentials.json not updated: its addresses may be outdated')
  })
  return credentials
}
