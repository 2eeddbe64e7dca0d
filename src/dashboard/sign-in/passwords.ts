import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { ConcurrencyLimiter } from '../../base/io/sockets/concurrency-limiter.ts'
import { OwnerQueue } from '../../base/threads/owner-queue.ts'
import { Secret } from '../../base/values/secret.ts'

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
  override name = 'PasswordQueueFull'
}

/** Hashes and verifies passwords with limited concurrency. */
export interface Passwords {
  /**
   * Hashes a password; the result contains the salt and the cost. The salt is that of `related` hashes, those of the same
   * address: one derivation then checks a password against all of them.
   */
  hash(password: string, related?: readonly string[]): Promise<string>
  /**
   * The first stored hash that the password matches. Without stored hashes it takes as long and finds nothing. Owners, who
   * cause the work, take turns.
   */
  find(owner: string, password: string, stored: readonly string[]): Promise<string | undefined>
}

/** The owner of work that only signed-in users and the operator cause. */
const TRUSTED = ''

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
  const queue = new OwnerQueue<() => void>()
  const queueSlots = new ConcurrencyLimiter({ total: MAX_QUEUED })
  let running = 0
  const newParameters = () => formatParameters(cost, randomBytes(SALT_BYTES))
  const unknownUser = newParameters()

  async function runLimited<T>(owner: string, work: () => Promise<T>): Promise<T> {
    if (running >= MAX_CONCURRENT) {
      const leaveQueue = queueSlots.acquire(owner)
      if (leaveQueue === undefined) throw new PasswordQueueFull('Too many passwords are being checked.')
      await new Promise<void>((resolve) => queue.push(owner, resolve))
      leaveQueue()
    } else running += 1
    try {
      return await work()
    } finally {
      // Hands the slot to the next in the queue, or frees it.
      const next = queue.take()
      if (next === undefined) running -= 1
      else next()
    }
  }

  /** `parameters` are the part of a hash before its last `$`: algorithm, cost and salt. */
  function derive(owner: string, password: string, parameters: string): Promise<Buffer> {
    const [, N, r, p, salt] = parameters.split('$')
    const options: ScryptOptions = {
      N: Number(N),
      r: Number(r),
      p: Number(p),
      maxmem: 256 * Number(N) * Number(r),
    }
    return runLimited(
      owner,
      () =>
        new Promise((resolve, reject) => {
          // The same text has several encodings, depending on the keyboard.
          const text = password.normalize('NFC')
          scrypt(text, Buffer.from(salt!, 'base64'), HASH_BYTES, options, (error, key) =>
            error === null ? resolve(key) : reject(error),
          )
        }),
    )
  }

  return {
    async hash(password, related = []) {
      const costText = formatParameters(cost, Buffer.alloc(0))
      const shared = related.find((hash) => hash.startsWith(costText))
      const parameters = shared === undefined ? newParameters() : parametersOf(shared)
      return `${parameters}$${(await derive(TRUSTED, password, parameters)).toString('base64')}`
    },
    async find(owner, password, stored) {
      const keys = new Map<string, Buffer>()
      // A user that does not exist takes as long as any other.
      for (const each of new Set(stored.length === 0 ? [unknownUser] : stored.map(parametersOf)))
        keys.set(each, await derive(owner, password, each))
      const matches = stored.filter((hash) => {
        const key = hash.slice(hash.lastIndexOf('$') + 1)
        return timingSafeEqual(keys.get(parametersOf(hash))!, Buffer.from(key, 'base64'))
      })
      return matches[0]
    },
  }
}

function formatParameters({ N, r, p }: ScryptCost, salt: Buffer): string {
  return ['scrypt', N, r, p, salt.toString('base64')].join('$')
}

function parametersOf(hash: string): string {
  return hash.slice(0, hash.lastIndexOf('$'))
}
