import type { Identity } from './sign-in.ts'

// Sealed and in base64 this stays below the 4 KiB at which browsers drop a cookie.
const MOST_BYTES = 2400
const LONGEST_TEXT = 256

/**
 * An identity that fits into a cookie. Claims go first, then the last groups; whoever decides by groups does so before,
 * with all of them.
 */
export function fitIdentity(identity: Identity): Identity {
  const cut = (text: string) => (text.length <= LONGEST_TEXT ? text : text.slice(0, LONGEST_TEXT))
  const small = {
    ...identity,
    name: cut(identity.name),
    email: identity.email.length > 320 ? '' : identity.email,
  }
  if (bytes(small) <= MOST_BYTES) return small
  const bare = { ...small, claims: {} }
  const groups = [...bare.groups]
  while (groups.length > 0 && bytes({ ...bare, groups }) > MOST_BYTES) groups.pop()
  return { ...bare, groups }
}

/** Whether an identity can be kept at all, even without anything that can be left out. */
export function isKeepable(identity: Identity): boolean {
  return bytes(fitIdentity(identity)) <= MOST_BYTES
}

function bytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
