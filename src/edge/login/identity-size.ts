import type { Identity } from './sign-in.ts'

// Sealed and in base64 this stays below the 4 KiB at which browsers drop a cookie.
const MAX_BYTES = 2400
const MAX_TEXT = 256

/**
 * An identity that fits into a cookie. Claims go first, then the last groups; whoever decides by groups does so before,
 * with all of them.
 */
export function fitIdentity(identity: Identity): Identity {
  const cut = (text: string) => (text.length <= MAX_TEXT ? text : text.slice(0, MAX_TEXT))
  const small = {
    ...identity,
    name: cut(identity.name),
    email: identity.email.length > 320 ? '' : identity.email,
  }
  if (bytes(small) <= MAX_BYTES) return small
  const bare = { ...small, claims: {}, groups: [] as string[] }
  let room = MAX_BYTES - bytes(bare)
  for (const group of identity.groups) {
    // With the comma before it. Counted one by one: a provider may name a hundred thousand.
    room -= bytes(group) + 1
    if (room < 0) break
    bare.groups.push(group)
  }
  return bare
}

/** Whether an identity can be kept at all, even without anything that can be left out. */
export function isKeepable(identity: Identity): boolean {
  return bytes(fitIdentity(identity)) <= MAX_BYTES
}

function bytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
