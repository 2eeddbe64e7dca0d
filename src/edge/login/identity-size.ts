import type { Identity } from './sign-in.ts'

// Sealed and in base64 this stays below the 4 KiB at which browsers drop a cookie.
const MAX_BYTES = 2400
const MAX_NAME_LENGTH = 256

/**
 * An identity that fits into a cookie. Claims go first, then the last groups; whoever decides by groups does so before,
 * with all of them.
 */
export function fitIdentity(identity: Identity): Identity {
  const truncate = (text: string) => (text.length <= MAX_NAME_LENGTH ? text : text.slice(0, MAX_NAME_LENGTH))
  const shortened = {
    ...identity,
    name: truncate(identity.name),
    email: identity.email.length > 320 ? '' : identity.email,
  }
  if (byteLength(shortened) <= MAX_BYTES) return shortened
  const minimal = { ...shortened, claims: {}, groups: [] as string[] }
  let remaining = MAX_BYTES - byteLength(minimal)
  for (const group of identity.groups) {
    // With the comma before it. Counted one by one: a provider may name a hundred thousand.
    remaining -= byteLength(group) + 1
    if (remaining < 0) break
    minimal.groups.push(group)
  }
  return minimal
}

/** Whether an identity can be kept at all, even without anything that can be left out. */
export function fitsCookie(identity: Identity): boolean {
  return byteLength(fitIdentity(identity)) <= MAX_BYTES
}

function byteLength(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
