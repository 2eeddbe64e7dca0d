import type { HeaderField } from '../../message/fields.ts'
import { createIdentityFields } from '../identity-fields.ts'
import type { StoredTokens } from '../provider-tokens.ts'
import { decryptScoped } from '../scoped-seal.ts'
import type { Seal } from '../seal.ts'
import type { Session } from './session.ts'
import { ACTIVITY_SECONDS } from './session-details.ts'

/** A decrypted session with the identity headers for the upstream. */
export interface CachedSession {
  readonly session: Session
  readonly fields: readonly HeaderField[]
  /** The last interval in which the activity of the session was reported. */
  reportedInterval: number
  /** The tokens that the last request had with it, and their sealed text. */
  tokens: { readonly sealed: string; readonly opened: StoredTokens } | undefined
}

const MAX_ENTRIES = 2000

/**
 * Cache of decrypted session cookies (decision 93). A browser sends the same cookie with every request, and decrypting
 * it costs a fifth of a request. Only authenticity is cached: expiry and revocation are checked each
 * time.
 */
export class SessionCookieCache {
  readonly #seal: Seal
  readonly #maxEntries: number
  #recent = new Map<string, CachedSession>()
  /** Entries not used since `#recent` was started; dropped when that is full. */
  #previous = new Map<string, CachedSession>()

  constructor(seal: Seal, maxEntries = MAX_ENTRIES) {
    this.#seal = seal
    this.#maxEntries = maxEntries
  }

  get size(): number {
    return this.#recent.size + this.#previous.size
  }

  get(text: string): CachedSession | undefined {
    const cached = this.#recent.get(text)
    if (cached !== undefined) return cached
    const session = this.#previous.get(text) ?? this.#unseal(text)
    if (session !== undefined) this.#store(text, session)
    return session
  }

  #unseal(text: string): CachedSession | undefined {
    const session = decryptScoped<Session>(this.#seal, 'session', text)
    return (
      session && {
        session,
        fields: createIdentityFields(session.identity),
        reportedInterval: Math.floor(session.seen / ACTIVITY_SECONDS),
        tokens: undefined,
      }
    )
  }

  #store(text: string, session: CachedSession): void {
    if (this.#recent.size >= this.#maxEntries) {
      this.#previous = this.#recent
      this.#recent = new Map()
    }
    // A copy: the text is a slice of the request head, which it would keep in memory.
    this.#recent.set(Buffer.from(text, 'latin1').toString('latin1'), session)
  }
}
