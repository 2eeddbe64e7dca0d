import { hash } from 'node:crypto'

/** Revokes the sessions of `subject` that started at or before `latestStart`. Wall-clock milliseconds. */
export interface Revocation {
  /** The id of a route or endpoint, of an application at its provider, or of the account for all of them. */
  readonly scopeId: string
  /** A session id, a session at the provider, or a person with all their sessions. */
  readonly subject: string
  readonly latestStart: number
  /** When every such session has expired anyway. */
  readonly expiresAt: number
}

const MAX_ENTRIES = 100_000

/** The subject of a person in one scope. Hashed, so that revocations do not store who signs out. */
export function toSubject(personId: string): string {
  return `person ${hash('sha256', personId)}`
}

/** The subject of a session at a provider, which several sessions here may belong to. */
export function toProviderSessionSubject(sid: string): string {
  return `session ${hash('sha256', sid, 'base64url')}`
}

/** The subject of a person in a whole account, where several identity providers may use the same ids. */
export function toUserSubject(providerUrl: string, personId: string): string {
  return `user ${hash('sha256', JSON.stringify([providerUrl, personId]), 'base64url')}`
}

interface ScopeRevocations {
  readonly bySubject: Map<string, { latestStart: number; expiresAt: number }>
  /** Sessions of any subject that started at or before this are revoked. */
  floor: number
}

/**
 * Revoked sessions, checked on every request. Bounded without ever forgetting a sign-out: when full, the scope with the
 * most revocations has its older sessions revoked altogether.
 */
export class Revocations {
  readonly #maxEntries: number
  readonly #scopes = new Map<string, ScopeRevocations>()
  #size = 0

  constructor(maxEntries = MAX_ENTRIES) {
    this.#maxEntries = maxEntries
  }

  get size(): number {
    return this.#size
  }

  add({ scopeId, subject, latestStart, expiresAt }: Revocation, now: number): void {
    if (expiresAt <= now) return
    const scope: ScopeRevocations = this.#scopes.get(scopeId) ?? { bySubject: new Map(), floor: 0 }
    this.#scopes.set(scopeId, scope)
    const existing = scope.bySubject.get(subject)
    if (existing === undefined) this.#size++
    scope.bySubject.set(subject, {
      latestStart: Math.max(latestStart, existing?.latestStart ?? 0),
      expiresAt: Math.max(expiresAt, existing?.expiresAt ?? 0),
    })
    if (this.#size > this.#maxEntries) this.#evict(now)
  }

  /** Whether a session of the subject that started then (wall-clock seconds) is revoked. */
  isRevoked(scopeId: string, subject: string, since: number): boolean {
    const scope = this.#scopes.get(scopeId)
    if (scope === undefined) return false
    const startedAt = since * 1000
    return startedAt <= scope.floor || startedAt <= (scope.bySubject.get(subject)?.latestStart ?? 0)
  }

  /** Drops expired revocations. */
  sweep(now: number): void {
    for (const [scopeId, scope] of this.#scopes) {
      for (const [subject, { expiresAt }] of scope.bySubject) {
        if (expiresAt > now) continue
        scope.bySubject.delete(subject)
        this.#size--
      }
      if (scope.bySubject.size === 0 && scope.floor === 0) this.#scopes.delete(scopeId)
    }
  }

  #evict(now: number): void {
    this.sweep(now)
    if (this.#size <= this.#maxEntries) return
    let largest: ScopeRevocations | undefined
    for (const scope of this.#scopes.values())
      if (largest === undefined || scope.bySubject.size > largest.bySubject.size) largest = scope
    const byAge = [...largest!.bySubject].sort(([, a], [, b]) => a.latestStart - b.latestStart)
    for (const [subject, { latestStart }] of byAge.slice(0, Math.ceil(byAge.length / 2))) {
      largest!.bySubject.delete(subject)
      largest!.floor = Math.max(largest!.floor, latestStart)
      this.#size--
    }
  }
}
