/**
 * Who owns which public name: claims of online tunnels in the database (leases with fences), reservations, the
 * platform's own names and public suffixes. Begin with `claims.ts`; `reservations.ts` answers look-ups,
 * `availability.ts` decides whether a tunnel may have a name, `overlap.ts` whether an account may own one, and
 * `name-watch.ts` evicts tunnels whose name came to belong to others.
 */
export {
  bindingOf,
  type EndpointAddress,
  endpointAddress,
  internalAddress,
  isPublicPort,
  kubernetesAddress,
  kubernetesScope,
  type TcpAddress,
} from './address.ts'
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
export { BINDING_INGRESS_LABEL, isPlatformName } from './platform-names.ts'
export { isPublicSuffix } from './public-suffix.ts'
export { followReservations, RESERVING_KINDS } from './reservation-watch.ts'
export { createReservations, findReservation, ownsDomain, type Reservations } from './reservations.ts'
