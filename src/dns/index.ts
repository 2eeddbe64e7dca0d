/**
 * The authoritative DNS server of the platform's zones. It may use `resources`, `store` and `base`. Start with
 * `server.ts` (UDP and TCP), then `message.ts` (wire format) and `resolve.ts` (the lookup). `zones.ts` builds the zones
 * from a snapshot, `zone.ts` compiles them, `follow-zones.ts` keeps them in sync with the store, `ask.ts` queries other
 * servers directly.
 */

export { createZones, type ZoneInputs, type Zones } from './follow-zones.ts'
export { type DirectResponse, queryServer } from './query.ts'
export type { ResponseRateLimitOptions } from './rate-limit.ts'
export { createDns, type Dns, type DnsCounts, type DnsOptions } from './server.ts'
export type { TcpLimits } from './tcp.ts'
export {
  compileZones,
  type StartOfAuthority,
  type ZoneData,
  type ZoneRecord,
  type ZoneTable,
} from './zone.ts'
export { buildZones, nameServerNames, type ZoneSnapshot } from './zones.ts'
