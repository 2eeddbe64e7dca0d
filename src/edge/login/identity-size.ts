import type { Identity } from './sign-in.ts'

// Sealed and base64-encoded, this stays below the 4 KiB at which browsers drop a cookie.
export const MAX_IDENTITY_BYTES = 2400
const MAX_NAME_LENGTH = 256

/**
 * Shrinks an identity to fit a cookie: drops the claims first, then the last groups. Group checks run before this, on
 * the complete list.
 */
export function fitIdentity(identity: Identity, maxBytes = MAX_IDENTITY_BYTES): Identity {
  const truncate = (text: string) => (text.length <= MAX_NAME_LENGTH ? text : text.slice(0, MAX_NAME_LENGTH))
  const shortened = {
    ...identity,
    name: truncate(identity.name),
    email: identity.email.length > 320 ? '' : identity.email,
  }
  if (byteLength(shortened) <= maxBytes) return shortened
  const minimal = { ...shortened, claims: {}, groups: [] as string[] }
  let remaining = maxBytes - byteLength({ ...minimal, areGroupsCut: true })
  for (const group of identity.groups) {
    // One for the comma. Counted one by one, because a provider may send a hundred thousand groups.
    remaining -= byteLength(group) + 1
    if (remaining < 0) return { ...minimal, areGroupsCut: true }
    minimal.groups.push(group)
  }
  return minimal
}

/** Whether the identity fits a cookie once everything optional is dropped. */
export function fitsCookie(identity: Identity): boolean {
  return byteLength(fitIdentity(identity)) <= MAX_IDENTITY_BYTES
}

function byteLength(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
