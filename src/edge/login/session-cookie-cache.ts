import type { Field } from '../message/fields.ts'
import { createIdentityFields } from './identity-fields.ts'
import type { Seal } from './seal.ts'
import type { Session } from './session.ts'

/** A session as its cookie holds it, with what the upstream is told of the visitor. */
export interface CachedSession {
  readonly session: Session
  readonly fields: readonly Field[]
}

const MAX_ENTRIES = 2000

/**
 * Cookies that were opened lately. A browser sends the same one with each of its requests, and opening it costs half as
 * much as all the rest of a request. That a cookie was made here is all that is remembered: whether its session is still
 * alive is asked anew each time.
 */
export class SessionCookieCache {
  readonly #seal: Seal
  readonly #maxEntries: number
  #recent = new Map<string, CachedSession>()
  /** What has not been seen since `#young` was begun goes with it when that is full. */
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
    const session = this.#seal.decrypt<Session>('session', text)
    return session && { session, fields: createIdentityFields(session.identity) }
  }

  #store(text: string, session: CachedSession): void {
    if (this.#recent.size >= this.#maxEntries) {
      this.#previous = this.#recent
      this.#recent = new Map()
    }
    // A copy: the text is part of a request's head, which would be kept with it.
    this.#recent.set(Buffer.from(text, 'latin1').toString('latin1'), session)
  }
}
