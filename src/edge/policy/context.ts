import type { Logger } from '../../base/process/log.ts'
import type { EndpointSource } from '../../policy/index.ts'
import type { RequestStep } from '../contracts/module.ts'
import type { HttpRoute, TcpHost } from '../contracts/table.ts'
import type { TlsSettings } from '../contracts/tls-policy.ts'
import type { InternalAddress } from '../contracts/tunnels.ts'
import type { ModuleContext } from '../modules/context.ts'
import type { ProviderTokenName } from '../services/logins.ts'

/** The TLS settings of a policy at this moment. Throws when a secret or an authority is missing. */
export type ReadTlsSettings = () => TlsSettings

/** What a policy can resolve while it is compiled: what modules can, and what it is attached to. */
export interface PolicyContext extends ModuleContext {
  readonly endpoint: EndpointSource
  /** Names it in URLs that identity providers know: the id of a route, or the host of an endpoint. */
  readonly serviceName: string
  /** The region that serves the endpoint, where it is known. */
  readonly region: string | undefined
  readonly log: Logger
  /** The current value of a secret of the account; undefined when there is none. */
  readSecret(vault: string, name: string): string | undefined
  /** The route of the account's internal endpoint that takes one request; undefined when none is online. */
  findInternal(address: InternalAddress): HttpRoute | undefined
  /** The same for one TCP connection. */
  findInternalTcp(address: InternalAddress): TcpHost | undefined
  /** Whether the account owns a name, and so all names below it, at this moment. */
  ownsDomain(name: string): boolean
  /** The tokens of identity providers that the policy reads. */
  readonly requiredTokens: readonly ProviderTokenName[]
  /** Collects the steps that sign visitors in. */
  readonly signIns: RequestStep[]
  /** Collects how TLS is to be terminated; each function tells the settings of the moment. */
  readonly terminations: ReadTlsSettings[]
  /** The PEM of a certificate authority of the account; undefined when there is none. */
  readAuthority(id: string): string | undefined
  /**
   * State of an action that survives changes of everything but the action itself. `key` names it within the policy; the name that a new one is
   * created with is the same at every process.
   */
  keepState<T extends object>(key: string, create: (name: string) => T): T
}
