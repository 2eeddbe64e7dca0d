import type { NameClaimRequest } from '../store/index.ts'

/** A name that was let go of and whose release the database has not been told yet. */
export interface Release {
  readonly request: NameClaimRequest
  readonly kept: boolean
  /** False for a claim of which the database may not have said that it took hold. */
  readonly wasHeld: boolean
}

/**
 * The releases that wait for the database, by tunnel, with a count of those held by each credential under each name: while
 * the database is away every claim asks for it, and all agents come back at once.
 */
export class Releases {
  readonly #byTunnel = new Map<string, Release>()
  readonly #heldCounts = new Map<string, number>()

  get size(): number {
    return this.#byTunnel.size
  }

  /** The oldest ones. */
  first(count: number): [tunnel: string, release: Release][] {
    return this.#byTunnel.entries().take(count).toArray()
  }

  /** Whether the credential of this claim let go of its name here. */
  hasHolder(request: NameClaimRequest): boolean {
    return this.#heldCounts.has(keyOf(request))
  }

  add(release: Release): void {
    const { tunnel } = release.request
    this.delete(tunnel)
    this.#byTunnel.set(tunnel, release)
    if (release.wasHeld) this.#count(release, 1)
  }

  /** Forgets the release of a tunnel; with `only`, unless another one has replaced that. */
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
