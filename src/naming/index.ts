export {
  ClaimRejected,
  claimedName,
  GRACE_MS,
  type NameClaimLimits,
  NameClaims,
  type NameClaimsOptions,
  TCP_CLAIMS,
} from './claims.ts'
export { isPlatformName } from './platform-names.ts'
export { isPublicSuffix } from './public-suffix.ts'
export { CLAIMING_KINDS, followClaims } from './reservation-watch.ts'
export { createReservedNames } from './reservations.ts'
