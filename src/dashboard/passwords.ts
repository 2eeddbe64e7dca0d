import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { Secret } from '../base/secret.ts'

/** The scrypt cost of one hash: it uses 128 · N · r bytes of memory, p times. */
export interface ScryptCost {
  readonly N: number
  readonly r: number
  readonly p: number
}

/** 32 MiB and about a fifth of a second. */
const DEFAULT_COST: ScryptCost = { N: 2 ** 15, r: 8, p: 3 }
// Each hash occupies a thread and its memory: sign-ins must not exhaust them.
const MAX_CONCURRENT = 2
const MAX_QUEUED = 32
const SALT_BYTES = 16
const HASH_BYTES = 32
const MIN_LENGTH = 12
const MAX_LENGTH = 1000
// 32 characters, so that a random byte picks each equally often; none looks like another.
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789'

/** The queue of passwords to hash is full. */
export class PasswordQueueFull extends Error {
  override name = 'TooBusy'
}

/** Hashes and verifies passwords with limited concurrency. */
export interface Passwords {
  /** Hashes a password; the result contains the salt and the cost. */
  hash(password: string): Promise<string>
  /** Whether the password matches. Without a stored hash it takes as long and returns false. */
  matches(password: string, stored: string | undefined): Promise<boolean>
}

/** The error message for a chosen password; undefined if it is valid. */
export function validatePassword(password: string): string | undefined {
  const length = [...password].length
  if (length < MIN_LENGTH)
    return `A password has at least ${MIN_LENGTH} characters; this one has ${length}. A few random words are easy to remember.`
  if (length > MAX_LENGTH) return `A password has at most ${MAX_LENGTH} characters.`
  return undefined
}

/** Generates a password: 125 random bits in groups that can be read aloud. */
export function generatePassword(): Secret {
  const letters = [...randomBytes(25)].map((byte) => ALPHABET[byte % 32]!)
  return new Secret(letters.join('').match(/.{5}/g)!.join('-'))
}

export function createPasswords(cost = DEFAULT_COST): Passwords {
  let running = 0
  const queue: (() => void)[] = []
  const dummySalt = randomBytes(SALT_BYTES)

  async function runLimited<T>(work: () => Promise<T>): Promise<T> {
    if (running >= MAX_CONCURRENT) {
      if (queue.length >= MAX_QUEUED) throw new PasswordQueueFull('Too many passwords are being checked.')
      await new Promise<void>((resolve) => queue.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      // Hands the slot to the next in the queue, or frees it.
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
          // The same text has several encodings, depending on the keyboard.
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
