import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { Secret } from '../base/secret.ts'

/** What one hash costs: memory is 128 · N · r bytes, and p says how often it is gone through. */
export interface ScryptCost {
  readonly N: number
  readonly r: number
  readonly p: number
}

/** 32 MiB and about a fifth of a second. */
const DEFAULT_COST: ScryptCost = { N: 2 ** 15, r: 8, p: 3 }
// Each hash takes a thread and its memory: sign-ins must not be able to take all of them.
const MAX_CONCURRENT = 2
const MAX_QUEUED = 32
const SALT_BYTES = 16
const HASH_BYTES = 32
const MIN_LENGTH = 12
const MAX_LENGTH = 1000
// 32 characters, so that a random byte picks each of them equally often, and none that looks like another.
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789'

/** More passwords are waiting to be checked than we are willing to work for. */
export class TooBusy extends Error {
  override name = 'TooBusy'
}

/** Hashes passwords and checks them, a few at a time. */
export interface Passwords {
  /** What is stored of a password: its hash, with the salt and the cost that made it. */
  hash(password: string): Promise<string>
  /** Whether the password is the one that was hashed. Without one to compare with, it costs as much and says no. */
  matches(password: string, stored: string | undefined): Promise<boolean>
}

/** What is wrong with a password somebody has chosen; undefined when nothing is. */
export function validatePassword(password: string): string | undefined {
  const length = [...password].length
  if (length < MIN_LENGTH)
    return `A password has at least ${MIN_LENGTH} characters; this one has ${length}. A few random words are easy to remember.`
  if (length > MAX_LENGTH) return `A password has at most ${MAX_LENGTH} characters.`
  return undefined
}

/** A password made for somebody: 125 random bits in groups that can be read aloud. */
export function generatePassword(): Secret {
  const letters = [...randomBytes(25)].map((byte) => ALPHABET[byte % 32]!)
  return new Secret(letters.join('').match(/.{5}/g)!.join('-'))
}

export function createPasswords({ cost = DEFAULT_COST }: { cost?: ScryptCost } = {}): Passwords {
  let running = 0
  const queue: (() => void)[] = []
  const dummySalt = randomBytes(SALT_BYTES)

  async function runLimited<T>(work: () => Promise<T>): Promise<T> {
    if (running >= MAX_CONCURRENT) {
      if (queue.length >= MAX_QUEUED) throw new TooBusy('Too many passwords are being checked right now.')
      await new Promise<void>((resolve) => queue.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      // The place goes straight to whoever waited longest, or becomes free.
      const next = queue.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }

  function derive(password: string, salt: Buffer, { N, r, p }: ScryptCost): Promise<Buffer> {
    const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r }
    return runLimited(
      () =>
        new Promise((resolve, reject) => {
          // The same letters can be written in several ways; keyboards do not agree on one.
          scrypt(password.normalize('NFC'), salt, HASH_BYTES, options, (error, key) =>
            error === null ? resolve(key) : reject(error),
          )
        }),
    )
  }

  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES)
      const key = await derive(password, salt, cost)
      return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64'), key.toString('base64')].join('$')
    },
    async matches(password, stored) {
      if (stored === undefined) {
        await derive(password, dummySalt, cost)
        return false
      }
      const [, N, r, p, salt, expected] = stored.split('$')
      const storedCost = { N: Number(N), r: Number(r), p: Number(p) }
      const key = await derive(password, Buffer.from(salt!, 'base64'), storedCost)
      return timingSafeEqual(key, Buffer.from(expected!, 'base64'))
    },
  }
}
