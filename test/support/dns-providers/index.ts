import type { TestContext } from 'node:test'
import type { DnsProviderName } from '../../../src/certs/index.ts'
import { startBind } from './bind.ts'
import { startCloudflare } from './cloudflare.ts'
import { startDigitalOcean } from './digitalocean.ts'
import { startHetzner } from './hetzner.ts'
import { startRoute53 } from './route53.ts'
import type { ProviderStandIn, StandInOptions } from './stand-in.ts'

/** A stand-in for each provider; for RFC 2136, a real name server. */
export const standIns: Readonly<
  Record<DnsProviderName, (t: TestContext, options: StandInOptions) => Promise<ProviderStandIn>>
> = {
  cloudflare: startCloudflare,
  digitalocean: startDigitalOcean,
  hetzner: startHetzner,
  rfc2136: startBind,
  route53: startRoute53,
}
