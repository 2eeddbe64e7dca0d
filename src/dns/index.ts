export { type DirectResponse, queryServer } from './ask.ts'
export { createZones, type ZoneInputs, type Zones } from './follow-zones.ts'
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
export { buildZones, nameServersOf, type ZoneSnapshot } from './zones.ts'
