import { createApi, createProbeListener, createRenderContext } from '../../api/index.ts'
import { VERSION } from '../../base/version.ts'
import { createOperatorAuthority } from '../../certs/index.ts'
import { createChangeTracker, createDashboard, createPasswords, mountViews } from '../../dashboard/index.ts'
import { createOnlineResources } from '../../sessions/index.ts'
import { openIpDataFiles } from '../../store/index.ts'
import { mountDocumentation } from '../documentation.ts'
import { type Downloads, openDownloads } from '../downloads/downloads.ts'
import { toLastingName } from '../downloads/release.ts'
import { mountDownloads } from '../downloads/routes.ts'
import { createFactKindReader } from '../ip-data.ts'
import { certificatePaths } from '../settings/settings.ts'
import { AppliedChanges } from '../workers/applied-changes.ts'
import { createWorkerTraffic, renderMetrics } from '../workers/worker-traffic.ts'
import type { Background } from './background.ts'
import type { Foundation } from './foundation.ts'
import type { ProcessReadiness } from './readiness.ts'
import type { TrafficParts } from './traffic.ts'

/** The management API with everything that is mounted on it. */
export type Control = ReturnType<typeof wireControl>

/** The API writes, the store publishes changes, the parts apply them. */
export function wireControl(
  foundation: Foundation,
  { events }: Background,
  { applyChanges, edge, logins, registry, loginSync }: TrafficParts,
  readiness: ProcessReadiness,
) {
  const { settings, store, clock, logOf, auth, restrictions, addresses, metrics, workers } = foundation
  const apiUrl = () => addresses.apiUrl
  const changesHere = new AppliedChanges(applyChanges)
  const applyHere = () => {
    changesHere.notify()
    return changesHere.wait()
  }
  const readFactKinds = createFactKindReader(openIpDataFiles(store))
  const dashboard = createDashboard({
    store,
    auth,
    restrictions,
    listenerUrl: () => addresses.listenerUrl,
    clock,
    log: logOf('dashboard'),
    passwords: createPasswords(foundation.passwordCost),
  })
  const api = createApi({
    store,
    dependencies: {
      auth,
      restrictions,
      browserAuth: dashboard.browserAuth,
      events,
      outbound: foundation.outbound,
      online: createOnlineResources(registry, createRenderContext(apiUrl)),
      applicationSessions: loginSync.applicationSessions,
      operatorAuthority: createOperatorAuthority({ store, clock }),
      readFactKinds,
    },
    config: {
      apiUrl,
      dashboardUrl: () => addresses.publicDashboardUrl,
      domain: settings.domain,
      operatorAccount: () => foundation.operatorAccount,
      region: settings.region,
      idpUrl: () => addresses.idpUrl,
      httpsPort: () => addresses.httpsPort,
      bindingIngress: () => addresses.bindingIngress,
      tcpHost: addresses.tcpHost,
      tcpPorts: settings.tcpPorts,
      nameSpans: foundation.nameSpans,
      acme: settings.acmeDirectory !== undefined,
      rateLimit: settings.apiRateLimit,
      maxConnections: foundation.connectionLimits.apiCalls,
      isShared: foundation.isShared,
      trustedProxies: foundation.trustedProxies,
      version: VERSION,
    },
    clock,
    log: logOf('api'),
    metrics,
    ...(workers !== undefined && { renderMetrics: () => renderMetrics(metrics, workers) }),
    applied: workers === undefined ? applyHere : () => workers.applied(),
    readiness,
  })
  dashboard.mount(api)
  mountDocumentation(api.http)
  const downloads = settings.downloads ? openDownloads(settings.dataDir) : undefined
  if (downloads !== undefined)
    mountDownloads(api.http, downloads, () => ({ url: addresses.downloadUrl, agent: addresses.publicAgent }))

  const changes = createChangeTracker({ store })
  mountViews(api, {
    log: logOf('dashboard'),
    store,
    readFactKinds,
    live: {
      ...(workers === undefined ? { ...edge, logins } : createWorkerTraffic(workers)),
      online: registry,
      changes,
    },
    platform: async () => ({
      ...addresses.publicUrls,
      domain: settings.domain,
      version: VERSION,
      tcp_host: addresses.tcpHost,
      agent_addr: addresses.publicAgent,
      ssh_addr: addresses.publicSsh,
      downloads: await describeDownloads(downloads, addresses.downloadUrl),
      acme: settings.acmeDirectory !== undefined,
      public_certificate: settings.acmeDirectory !== undefined || certificatePaths(settings) !== undefined,
      ca_pem: foundation.authority.certificatePem,
      database: readiness.database(),
    }),
  })
  return { api, probes: createProbeListener(api.probes), changes }
}

async function describeDownloads(downloads: Downloads | undefined, url: string) {
  // A disk that is full is no reason to have no dashboard; /download fails with the reason.
  const release = await downloads?.current().catch(() => undefined)
  return release === undefined
    ? null
    : { url, files: [...release.files.keys()].map((name) => toLastingName(name, release)) }
}
