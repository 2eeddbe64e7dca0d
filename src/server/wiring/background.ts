import { readFile } from 'node:fs/promises'
import { createOutbound } from '../../base/outbound/outbound.ts'
import { createOutboundThread } from '../../base/outbound/outbound-thread.ts'
import { CertificateFiles, createCerts, createResolver } from '../../certs/index.ts'
import { createDns, createZones, nameServerNames } from '../../dns/index.ts'
import { createEvents, readEndpoints } from '../../events/index.ts'
import { configureDnsProvider } from '../settings/dns-provider.ts'
import { certificatePaths } from '../settings/settings.ts'
import type { Foundation } from './foundation.ts'

/** Certificates, DNS and events. */
export type Background = Awaited<ReturnType<typeof wireBackground>>

/** What runs beside traffic: certificates are issued, zones served, events delivered. */
export async function wireBackground(foundation: Foundation) {
  const { settings, store, clock, logOf, tunnels, addresses, cleanup, hasRole } = foundation
  // Only calls to the ACME server trust the CA of a private ACME server.
  const acmeOutbound = createOutbound({
    allow: settings.outboundAllow,
    ...(settings.acmeCa !== undefined && { extraCa: [await readFile(settings.acmeCa, 'utf8')] }),
  })
  cleanup.defer(() => acmeOutbound.close())
  const dnsProvider = hasRole('jobs') ? await configureDnsProvider(settings, acmeOutbound) : undefined
  const paths = certificatePaths(settings)
  const log = logOf('certs')
  const files = paths && (await CertificateFiles.open({ paths, domain: settings.domain, clock, log }))
  const certs = createCerts({
    dnsProvider,
    files,
    store,
    authority: foundation.authority,
    outbound: acmeOutbound,
    clock,
    log,
    base: settings.domain,
    region: settings.region,
    addresses: settings.publicIps,
    nameServers: nameServerNames(settings.domain),
    resolver: createResolver(settings.dnsResolver),
    isBound: (name) =>
      tunnels.atHost('https', name) !== undefined || tunnels.atHost('tls', name) !== undefined,
    jobs: hasRole('jobs'),
    ...(settings.acmeDirectory !== undefined && {
      acme: { directory: settings.acmeDirectory, email: settings.acmeEmail },
    }),
  })
  const zones = createZones({
    store,
    base: settings.domain,
    addresses: settings.publicIps,
    inputs: certs,
    log: logOf('dns'),
  })
  const dns =
    settings.dnsAddr &&
    createDns({
      ...{ table: zones.table, addr: settings.dnsAddr, clock, log: logOf('dns') },
      listen: foundation.listeners.listen,
    })

  const deliveries = createOutboundThread(foundation.outboundOptions)
  cleanup.defer(() => deliveries.close())
  const events = createEvents({
    store,
    outbound: deliveries,
    node: foundation.nodeId,
    clock,
    log: logOf('events'),
    metrics: foundation.metrics,
    apiUrl: () => addresses.apiUrl,
    jobs: hasRole('jobs'),
    endpoints: readEndpoints(process.env),
  })
  return { certs, zones, dns, events }
}
