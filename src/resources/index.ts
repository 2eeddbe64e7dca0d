/**
 * The declarations of every resource and module: one file for each resource, and one for each module shape in
 * `modules/`. Types, validation, API routes, OpenAPI, storage and event types are derived from them; there are no
 * sockets and no SQL here. Begin with `schema/define.ts` (`defineResource`), then `schema/value.ts` (the kinds of
 * values) and one resource such as `ip-policy-rule.ts`; `resources` below lists them all.
 */
import { AbuseReport } from './abuse-report.ts'
import { AgentIngress } from './agent-ingress.ts'
import { ApiKey } from './api-key.ts'
import { ApplicationSession } from './application-session.ts'
import { ApplicationUser } from './application-user.ts'
import { BotUser, ServiceUser } from './bot-user.ts'
import { CertificateAuthority } from './certificate-authority.ts'
import { Endpoint } from './endpoint.ts'
import { EndpointConfiguration } from './endpoint-configuration.ts'
import { ErrorPage } from './error-page.ts'
import { EventDestination } from './event-destination.ts'
import { EventSubscription } from './event-subscription.ts'
import { FailoverBackend } from './failover-backend.ts'
import { HttpResponseBackend } from './http-response-backend.ts'
import { HttpsEdge } from './https-edge.ts'
import { HttpsRoute } from './https-route.ts'
import { IpPolicy } from './ip-policy.ts'
import { IpPolicyRule } from './ip-policy-rule.ts'
import { IpRestriction } from './ip-restriction.ts'
import { KubernetesOperator } from './kubernetes-operator.ts'
import { ReservedAddr } from './reserved-addr.ts'
import { ReservedDomain } from './reserved-domain.ts'
import type { Resource } from './schema/define.ts'
import { SshCertificateAuthority } from './ssh-certificate-authority.ts'
import { SshCredential } from './ssh-credential.ts'
import { SshHostCertificate } from './ssh-host-certificate.ts'
import { SshUserCertificate } from './ssh-user-certificate.ts'
import { StaticBackend } from './static-backend.ts'
import { TcpEdge } from './tcp-edge.ts'
import { TlsCertificate } from './tls-certificate.ts'
import { TlsEdge } from './tls-edge.ts'
import { Tunnel } from './tunnel.ts'
import { TunnelCredential } from './tunnel-credential.ts'
import { TunnelGroupBackend } from './tunnel-group-backend.ts'
import { TunnelSession } from './tunnel-session.ts'
import { User } from './user.ts'
import { Vault } from './vault.ts'
import { VaultSecret } from './vault-secret.ts'
import { WeightedBackend } from './weighted-backend.ts'

/** Every resource of the management API, in the order of the API documents. */
export const resources = {
  api_keys: ApiKey,
  credentials: TunnelCredential,
  ssh_credentials: SshCredential,
  ip_policies: IpPolicy,
  ip_policy_rules: IpPolicyRule,
  ip_restrictions: IpRestriction,
  reserved_addrs: ReservedAddr,
  reserved_domains: ReservedDomain,
  endpoint_configurations: EndpointConfiguration,
  agent_ingresses: AgentIngress,
  tunnel_sessions: TunnelSession,
  tunnels: Tunnel,
  endpoints: Endpoint,
  certificate_authorities: CertificateAuthority,
  tls_certificates: TlsCertificate,
  ssh_certificate_authorities: SshCertificateAuthority,
  ssh_user_certificates: SshUserCertificate,
  ssh_host_certificates: SshHostCertificate,
  edges_https: HttpsEdge,
  edges_https_routes: HttpsRoute,
  edges_tls: TlsEdge,
  edges_tcp: TcpEdge,
  backends_http_response: HttpResponseBackend,
  backends_tunnel_group: TunnelGroupBackend,
  backends_weighted: WeightedBackend,
  backends_failover: FailoverBackend,
  backends_static: StaticBackend,
  error_pages: ErrorPage,
  vaults: Vault,
  vault_secrets: VaultSecret,
  event_destinations: EventDestination,
  event_subscriptions: EventSubscription,
  users: User,
  bot_users: BotUser,
  abuse_reports: AbuseReport,
  kubernetes_operators: KubernetesOperator,
  app_users: ApplicationUser,
  app_sessions: ApplicationSession,
} as const

export type ResourceKind = keyof typeof resources

/** The stored kinds of backends. */
export const backendKinds = Object.keys(resources).filter((kind) => kind.startsWith('backends_'))

/** The same resources as a list, for code that treats all alike. */
export const allResources: readonly Resource[] = Object.values(resources)

const byPrefix = new Map(allResources.map((resource) => [resource.prefix, resource]))

/** The resource whose ids have this prefix. */
export function resourceOfPrefix(prefix: string): Resource | undefined {
  return byPrefix.get(prefix)
}

export type {
  SessionActivity,
  SessionDetails,
  SessionLocation,
  StartedSession,
} from './application-session.ts'
export type { UserProfile } from './application-user.ts'
export { type ErrorPagePlaceholder, PLACEHOLDER } from './error-page.ts'
export { eventSource } from './event-subscription.ts'
export { EVENT_TYPES, TRAFFIC_FIELDS } from './event-types.ts'
export { METADATA_LIMITS } from './modules/idp-metadata.ts'
export * from './modules/index.ts'
export type { TokenAuthMethod } from './modules/oidc.ts'
export { type SamlUrls, samlUrls } from './modules/saml.ts'
export { MAX_POLICY_BYTES } from './modules/traffic-policy.ts'
export * from './schema/acl.ts'
export type { Operation, Resource, StoredRecord, UniqueName, View } from './schema/define.ts'
export { listSchema, managedClaim } from './schema/define.ts'
export { REGIONS } from './schema/formats.ts'
export type { Settings } from './schema/module.ts'
export { GUARDS, type Guard, hasRole, type RequiredRole, ROLES, type Role } from './schema/roles.ts'
export { describedSchema, InvalidValue, type Ref, type RenderContext } from './schema/value.ts'
export { DEFAULT_EXTENSIONS } from './ssh-user-certificate.ts'
export {
  AbuseReport,
  AgentIngress,
  ApiKey,
  ApplicationSession,
  ApplicationUser,
  BotUser,
  CertificateAuthority,
  Endpoint,
  EndpointConfiguration,
  ErrorPage,
  EventDestination,
  EventSubscription,
  FailoverBackend,
  HttpResponseBackend,
  HttpsEdge,
  HttpsRoute,
  IpPolicy,
  IpPolicyRule,
  IpRestriction,
  KubernetesOperator,
  ReservedAddr,
  ReservedDomain,
  ServiceUser,
  SshCertificateAuthority,
  SshCredential,
  SshHostCertificate,
  SshUserCertificate,
  StaticBackend,
  TcpEdge,
  TlsCertificate,
  TlsEdge,
  Tunnel,
  TunnelCredential,
  TunnelGroupBackend,
  TunnelSession,
  User,
  Vault,
  VaultSecret,
  WeightedBackend,
}
