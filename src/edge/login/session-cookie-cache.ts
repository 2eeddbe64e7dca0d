import type { Field } from '../message/fields.ts'
import { identityFields } from './identity-fields.ts'
import type { Seal } from './seal.ts'
import type { Session } from './session.ts'

/** A session as its cookie holds it, with what the upstream is told of the visitor. */
export interface OpenedSession {
  readonly session: Session
  readonly fields: readonly Field[]
}

const MOST = 2000

/**
 * Cookies that were opened lately. A browser sends the same one with each of its requests, and opening it costs half as
 * much as all the rest of a request. That a cookie was made here is all that is remembered: whether its session is still
 * alive is asked anew each time.
 */
export class OpenedSessions {
  readonly #seal: Seal
  readonly #most: number
  #young = new Map<string, OpenedSession>()
  /** What has not been seen since `#young` was begun goes with it when that is full. */
  #old = new Map<string, OpenedSession>()

  constructor(seal: Seal, most = MOST) {
    this.#seal = seal
    this.#most = most
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  open(text: string): OpenedSession | undefined {
    const known = this.#young.get(text)
    if (known !== undefined) return known
    const opened = this.#old.get(text) ?? this.#unseal(text)
    if (opened !== undefined) this.#keep(text, opened)
    return opened
  }

  #unseal(text: string): OpenedSession | undefined {
    const session = this.#seal.open<Session>('session', text)
    return session && { session, fields: identityFields(session.identity) }
  }

  #keep(text: string, opened: OpenedSession): void {
    if (this.#young.size >= this.#most) {
      this.#old = this.#young
      this.#young = new Map()
    }
    // A copy: the text is part of a request's head, which would be kept with it.
    this.#young.set(Buffer.from(text, 'latin1').toString('latin1'), opened)
  }
}
