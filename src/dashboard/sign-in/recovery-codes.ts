import { hash, randomBytes } from 'node:crypto'

const COUNT = 10
/** Without letters and digits that look alike; 16 of them are 80 bits, so that a plain digest is enough. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789'
const GROUPS = 4
const GROUP_LENGTH = 4

/** Creates recovery codes, such as `7hq2-…`. Only their digests are stored. */
export function createRecoveryCodes(): { codes: string[]; digests: string[] } {
  const codes = Array.from({ length: COUNT }, createCode)
  return { codes, digests: codes.map(digestOf) }
}

function createCode(): string {
  const letters = [...randomBytes(GROUPS * GROUP_LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length])
  return Array.from({ length: GROUPS }, (_, group) =>
    letters.slice(group * GROUP_LENGTH, (group + 1) * GROUP_LENGTH).join(''),
  ).join('-')
}

/** The digests that remain once this code is used; undefined if it is none of them. */
export function redeemRecoveryCode(digests: readonly string[], code: string): string[] | undefined {
  const digest = digestOf(code)
  return digests.includes(digest) ? digests.filter((each) => each !== digest) : undefined
}

/** Upper case, spaces and missing hyphens do not matter. */
function digestOf(code: string): string {
  return hash('sha256', code.toLowerCase().replace(/[^a-z0-9]/g, ''))
}
