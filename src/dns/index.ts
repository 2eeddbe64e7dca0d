/**
 * The authoritative DNS server of the platform's zones. Begin with `server.ts` (UDP and TCP), then `message.ts` (wire
 * format) and `resolve.ts` (the lookup). `zones.ts` builds the zones from a snapshot, `zone.ts` compiles them,
 * `follow-zones.ts` keeps them in sync with the store, `query.ts` queries other servers directly.
 */

export { createZones } from './follow-zones.ts'
export { type DirectResponse, queryServer } from './query.ts'
export { createDns } from './server.ts'
export { compileZones, type ZoneData } from './zone.ts'
export { nameServerNames } from './zones.ts'
