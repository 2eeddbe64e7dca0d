import { EndpointConfiguration, IpPolicy, type ResourceKind } from '../resources/index.ts'
import { agentIngresses } from './agent-ingresses.ts'
import { apiKeys, tunnelCredentials } from './api-keys.ts'
import { auditOperations } from './audit-events.ts'
import {
  failoverBackends,
  httpResponseBackends,
  staticBackends,
  tunnelGroupBackends,
  weightedBackends,
} from './backends.ts'
import { certificateAuthorities, tlsCertificates } from './certificates.ts'
import { type Behaviour, crud } from './crud.ts'
import { detachOperations } from './detach.ts'
import { httpsEdges, httpsRoutes, tcpEdges, tlsEdges } from './edges.ts'
import { eventDestinations, eventSubscriptions, testEventOperation } from './event-destinations.ts'
import { eventSourceOperations } from './event-sources.ts'
import { ipPolicyRules, ipRestrictions } from './ip-restrictions.ts'
import { type ApiOperation, operationsOf } from './operations.ts'
import { reservedAddrs, reservedDomains } from './reserved-names.ts'
import { sessionOperations } from './sessions.ts'
import { sshCertificateAuthorities, sshHostCertificates, sshUserCertificates } from './ssh-certificates.ts'
import { sshCredentials } from './ssh-credentials.ts'
import { botUsers, users } from './users.ts'

/** The behaviour of every stored resource. A resource missing here does not compile. */
export const behaviours = {
  api_keys: apiKeys,
  credentials: tunnelCredentials,
  ssh_credentials: sshCredentials,
  ip_policies: crud(IpPolicy),
  ip_policy_rules: ipPolicyRules,
  ip_restrictions: ipRestrictions,
  reserved_addrs: reservedAddrs,
  reserved_domains: reservedDomains,
  endpoint_configurations: crud(EndpointConfiguration),
  agent_ingresses: agentIngresses,
  certificate_authorities: certificateAuthorities,
  tls_certificates: tlsCertificates,
  ssh_certificate_authorities: sshCertificateAuthorities,
  ssh_user_certificates: sshUserCertificates,
  ssh_host_certificates: sshHostCertificates,
  edges_https: httpsEdges,
  edges_https_routes: httpsRoutes,
  edges_tls: tlsEdges,
  edges_tcp: tcpEdges,
  backends_http_response: httpResponseBackends,
  backends_tunnel_group: tunnelGroupBackends,
  backends_weighted: weightedBackends,
  backends_failover: failoverBackends,
  backends_static: staticBackends,
  event_destinations: eventDestinations,
  event_subscriptions: eventSubscriptions,
  users,
  bot_users: botUsers,
} satisfies Record<Exclude<ResourceKind, 'tunnel_sessions' | 'tunnels' | 'endpoints'>, Behaviour>

/** Every operation of the API. */
export const operations: readonly ApiOperation[] = [
  ...Object.values(behaviours).flatMap(operationsOf),
  ...detachOperations,
  ...eventSourceOperations,
  testEventOperation,
  ...sessionOperations,
  ...auditOperations,
]
