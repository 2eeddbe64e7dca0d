import { CommandFailure } from '../../base/process/command-line.ts'
import { joinHostPort, parseHostPort } from '../../base/values/hostport.ts'
import type { ListenerAddress } from '../settings/setting-values.ts'
import type { RoleName, ServerSettings } from '../settings/settings.ts'
import type { WorkerAddresses } from './worker-messages.ts'

/** The roles that carry traffic: with several workers, those run them. */
const WORKER_ROLES: readonly RoleName[] = ['edge', 'gateway']

/** Those of them that the server runs. */
export function workerRoles({ roles }: ServerSettings): RoleName[] {
  return WORKER_ROLES.filter((role) => roles.has(role))
}

/** The number of worker processes; 0 when the traffic is served by this process, or by others. */
export function countWorkers(settings: ServerSettings): number {
  return settings.workers > 1 && workerRoles(settings).length > 0 ? settings.workers : 0
}

/** The settings of the control process: the roles without those of its workers. */
export function controlSettings(settings: ServerSettings): ServerSettings {
  const roles = new Set([...settings.roles].filter((role) => !WORKER_ROLES.includes(role)))
  return { ...settings, roles }
}

/**
 * The command line of a worker: that of the server with the roles of traffic alone, and the ports that the first worker
 * has bound instead of "any free port".
 */
export function workerFlags(
  settings: ServerSettings,
  number: number,
  bound: WorkerAddresses | undefined,
): string[] {
  const { dataDir, httpAddr, httpsAddr, agentAddr, sshAddr } = settings
  const overrides: Record<string, string | undefined> = {
    'data-dir': dataDir,
    roles: workerRoles(settings).join(','),
    'http-addr': formatAddress(httpAddr, bound?.http),
    'https-addr': formatAddress(httpsAddr, bound?.https),
    'agent-addr': bound?.agent ?? formatAddress(agentAddr),
    'ssh-addr': bound?.ssh ?? formatAddress(sshAddr),
    'api-addr': 'false',
    'dns-addr': 'false',
    'probe-addr': 'false',
    workers: String(settings.workers),
    ...peerFlags(settings, number),
  }
  const values = new Map(settings.explicit)
  for (const [flag, value] of Object.entries(overrides)) if (value !== undefined) values.set(flag, value)
  return [...values].flatMap(([flag, value]) => [`--${flag}`, value])
}

/** Nodes dial each worker by its own port: those after the port of the control process, so that firewalls can name them. */
function peerFlags({ peerAddr, peerAdvertise }: ServerSettings, number: number) {
  if (peerAddr === 'auto' || peerAddr === undefined) return {}
  const { host, port } = peerAddr
  const advertised = peerAdvertise === undefined ? undefined : parseHostPort(peerAdvertise)
  return {
    'peer-addr': joinHostPort(host, port === 0 ? 0 : portOf(port, number)),
    'peer-advertise':
      advertised?.port === undefined
        ? undefined
        : joinHostPort(advertised.host.replace(/^\[|\]$/g, ''), portOf(advertised.port, number)),
  }
}

function portOf(first: number, number: number): number {
  if (first + number <= 65_535) return first + number
  throw new CommandFailure(
    `Worker ${number} has no port for other nodes: choose a lower port for --peer-addr and --peer-advertise.`,
  )
}

function formatAddress(address: ListenerAddress | undefined, port = address?.port): string {
  return address === undefined || port === undefined ? 'false' : joinHostPort(address.host, port)
}
