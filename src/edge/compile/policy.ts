import { hash } from 'node:crypto'
import { parseHostPort } from '../../base/values/hostport.ts'
import { type Attachment, type EndpointSource, listRequiredTokens, readPolicy } from '../../policy/index.ts'
import type { ModuleContext } from '../modules/context.ts'
import { type CompiledPolicy, compilePolicy } from '../policy/index.ts'
import type { CompileContext, CompilerDependencies } from './context.ts'
import { ModuleBuildError } from './module.ts'

/** A traffic policy and what it is attached to. */
export interface AttachedPolicy {
  readonly text: string
  readonly attachment: Attachment
  readonly endpoint: EndpointSource
  readonly region: string | undefined
  /** Tells attachments of one account apart; the same on every node and after a reconnect. */
  readonly scope: string
  /** Names it in URLs that identity providers know. */
  readonly serviceName: string
}

export type PolicyDependencies = Pick<
  CompilerDependencies,
  'runtime' | 'services' | 'snapshot' | 'ipPolicies' | 'policyStates' | 'internalEndpoints'
>

/** Compiles a traffic policy. Throws `ModuleBuildError`. */
export function buildPolicy(
  { text, attachment, endpoint, region, scope, serviceName }: AttachedPolicy,
  context: ModuleContext,
  { runtime, snapshot, ipPolicies, policyStates, internalEndpoints }: PolicyDependencies,
): CompiledPolicy {
  const { accountId, scopeId, clock, services } = context
  try {
    const policy = readPolicy(text, attachment)
    return compilePolicy(policy, {
      accountId,
      scopeId,
      clock,
      services,
      compileIpPolicies(ids) {
        const filter = context.compileIpPolicies(ids)
        ipPolicies.requireOwned(ids, accountId)
        return filter
      },
      readAuthorities: (ids) => context.readAuthorities(ids),
      getOrCreate: (name, key, create) => context.getOrCreate(name, key, create),
      endpoint,
      serviceName,
      region,
      log: runtime.log,
      ownsDomain: (name) => snapshot.ownsDomain(accountId, name),
      requiredTokens: listRequiredTokens(policy),
      signIns: [],
      terminations: [],
      readAuthority(id) {
        const authority = snapshot.authorities.get(id)
        return authority?.accountId === accountId ? authority.ca_pem : undefined
      },
      readSecret: (vault, name) => snapshot.secretValue(accountId, vault, name),
      findInternal: (address) => internalEndpoints.http(accountId, address),
      findInternalTcp: (address) => internalEndpoints.tcp(accountId, address),
      keepState: (key, create) =>
        policyStates.getOrCreate(accountId, hash('sha256', JSON.stringify([scope, key])), create),
    })
  } catch (error) {
    throw new ModuleBuildError('traffic_policy', error)
  }
}

/** Where the module of a route or edge is attached. */
export interface PolicyModule {
  readonly settings: { readonly enabled: boolean; readonly value: string } | null | undefined
  readonly attachment: Attachment
  readonly edgeId: string
  readonly hostports: readonly string[] | null
}

/** Compiles the `traffic_policy` module of a route or edge; undefined when there is none. */
export function buildPolicyModule(
  { settings, attachment, edgeId, hostports }: PolicyModule,
  scopeId: string,
  context: CompileContext,
): CompiledPolicy | undefined {
  if (!settings?.enabled) return undefined
  const addr = hostports?.[0] ?? ''
  const { host, port } = parseHostPort(addr) ?? { host: addr, port: 0 }
  const { protocol } = attachment
  const policy = {
    text: settings.value,
    attachment,
    endpoint: {
      id: edgeId,
      protocol,
      host,
      port: port ?? 0,
      addr,
      url: `${protocol}://${addr.replace(/:443$/, '')}`,
    },
    region: undefined,
    scope: scopeId,
    serviceName: scopeId,
  }
  return buildPolicy(policy, context.moduleContext(scopeId), context.dependencies)
}
