import { type ResourceKind, resources } from '../../resources/index.ts'
import { crud, type ResourceHooks } from '../crud/crud.ts'
import { apiKeys, tunnelCredentials } from './credentials/api-keys.ts'
import {
  sshCertificateAuthorities,
  sshHostCertificates,
  sshUserCertificates,
} from './credentials/ssh-certificates.ts'
import { sshCredentials } from './credentials/ssh-credentials.ts'
import { botUsers, users } from './credentials/users.ts'
import { vaultSecrets, vaults } from './credentials/vaults.ts'
import { abuseReports } from './endpoints/abuse-reports.ts'
import { agentIngresses } from './endpoints/agent-ingresses.ts'
import { failoverBackends, tunnelGroupBackends, weightedBackends } from './endpoints/backends.ts'
import { certificateAuthorities, tlsCertificates } from './endpoints/certificates.ts'
import { endpoints } from './endpoints/cloud-endpoints.ts'
import { httpsEdges, httpsRoutes, tcpEdges, tlsEdges } from './endpoints/edges.ts'
import { endpointConfigurations } from './endpoints/endpoint-configurations.ts'
import { ipPolicyRules, ipRestrictions } from './endpoints/ip-restrictions.ts'
import { kubernetesOperators } from './endpoints/kubernetes-operators.ts'
import { reservedAddrs, reservedDomains } from './endpoints/reserved-names.ts'
import { eventDestinations, eventSubscriptions } from './events/event-destinations.ts'

/** What resources do beyond CRUD. One that is missing here does nothing else. */
const resourceHooks: Partial<Record<ResourceKind, ResourceHooks>> = {
  api_keys: apiKeys,
  credentials: tunnelCredentials,
  ssh_credentials: sshCredentials,
  ip_policy_rules: ipPolicyRules,
  ip_restrictions: ipRestrictions,
  reserved_addrs: reservedAddrs,
  reserved_domains: reservedDomains,
  endpoint_configurations: endpointConfigurations,
  agent_ingresses: agentIngresses,
  endpoints,
  certificate_authorities: certificateAuthorities,
  tls_certificates: tlsCertificates,
  ssh_certificate_authorities: sshCertificateAuthorities,
  ssh_user_certificates: sshUserCertificates,
  ssh_host_certificates: sshHostCertificates,
  edges_https: httpsEdges,
  edges_https_routes: httpsRoutes,
  edges_tls: tlsEdges,
  edges_tcp: tcpEdges,
  backends_tunnel_group: tunnelGroupBackends,
  backends_weighted: weightedBackends,
  backends_failover: failoverBackends,
  vaults,
  vault_secrets: vaultSecrets,
  event_destinations: eventDestinations,
  event_subscriptions: eventSubscriptions,
  users,
  bot_users: botUsers,
  abuse_reports: abuseReports,
  kubernetes_operators: kubernetesOperators,
}

/** The hooks of a stored resource. */
export function hooksOf(kind: ResourceKind): ResourceHooks {
  return resourceHooks[kind] ?? crud(resources[kind] as never)
}
