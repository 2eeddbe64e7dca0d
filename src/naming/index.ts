/**
 * Who owns which public name: claims of online tunnels in the database (leases with fences), reservations, the platform's
 * own names and public suffixes. May use base, resources and store. Begin with `claims.ts`; `reservations.ts` answers
 * lookups, `reservation-watch.ts` reports new reservations.
 */
export { requireAvailableAddress, requireAvailableName } from './availability.ts'
export {
  ClaimRejected,
  claimNameOf,
  GRACE_MS,
  type NameClaimLimits,
  NameClaims,
} from './claims.ts'
export { createNameWatch, type NameWatch } from './name-watch.ts'
export { findFreeAddress, findOverlap } from './overlap.ts'
export { isPlatformName } from './platform-names.ts'
export { isPublicSuffix } from './public-suffix.ts'
export { followReservations, RESERVING_KINDS } from './reservation-watch.ts'
export { createReservations, type Reservation, type Reservations } from './reservations.ts'
export { findReservation } from './reserved-hosts.ts'
