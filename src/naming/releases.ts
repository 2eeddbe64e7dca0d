import type { NameClaimRequest } from '../store/index.ts'

/** A released claim that is not stored as released yet. */
export interface Release {
  readonly request: NameClaimRequest
  readonly inGrace: boolean
  /** False for a claim that the database may not have granted. */
  readonly wasHeld: boolean
}

/**
 * Releases waiting for the database, by tunnel, with a count per credential and name: while the database is unavailable
 * every claim checks the count, and all agents reconnect at once.
 */
export class Releases {
  readonly #byTunnel = new Map<string, Release>()
  readonly #heldCounts = new Map<string, number>()

  get size(): number {
    return this.#byTunnel.size
  }

  /** The oldest releases. */
  first(count: number): [tunnel: string, release: Release][] {
    return this.#byTunnel.entries().take(count).toArray()
  }

  /** Whether the credential of this claim released the name here. */
  hasHolder(request: NameClaimRequest): boolean {
    return this.#heldCounts.has(keyOf(request))
  }

  add(release: Release): void {
    const { tunnel } = release.request
    this.delete(tunnel)
    this.#byTunnel.set(tunnel, release)
    if (release.wasHeld) this.#count(release, 1)
  }

  /** Removes the release of a tunnel; with `only`, unless another one has replaced it. */
  delete(tunnel: string, only?: Release): void {
    const release = this.#byTunnel.get(tunnel)
    if (release === undefined || (only !== undefined && only !== release)) return
    this.#byTunnel.delete(tunnel)
    if (release.wasHeld) this.#count(release, -1)
  }

  #count({ request }: Release, change: 1 | -1): void {
    const key = keyOf(request)
    const count = (this.#heldCounts.get(key) ?? 0) + change
    if (count === 0) this.#heldCounts.delete(key)
    else this.#heldCounts.set(key, count)
  }
}

function keyOf({ name, listener, credential }: NameClaimRequest): string {
  return `${listener} ${name} ${credential}`
}
