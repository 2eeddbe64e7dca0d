/** Longer than any authentication takes, so a change made during one is not missed. */
const CHANGE_RETENTION_MS = 60_000

/** A change to a credential; `rules` is undefined after a deletion. */
interface CredentialChange {
  /** Position among all credential changes. */
  readonly sequence: number
  readonly rules: readonly string[] | undefined
  readonly timer: NodeJS.Timeout
}

/** The recent changes to credentials, for sessions whose credential was being checked meanwhile. */
export class CredentialChanges {
  readonly #changes = new Map<string, CredentialChange>()
  #count = 0

  /** Number of changes so far. */
  get count(): number {
    return this.#count
  }

  record(credentialId: string, rules: readonly string[] | undefined): void {
    clearTimeout(this.#changes.get(credentialId)?.timer)
    const timer = setTimeout(() => this.#changes.delete(credentialId), CHANGE_RETENTION_MS)
    timer.unref()
    this.#changes.set(credentialId, { sequence: ++this.#count, rules, timer })
  }

  /** The last change of a credential, if it was made after the first `count` changes. */
  changeSince(
    credentialId: string,
    count: number,
  ): { readonly rules: readonly string[] | undefined } | undefined {
    const change = this.#changes.get(credentialId)
    return change !== undefined && change.sequence > count ? change : undefined
  }

  close(): void {
    for (const { timer } of this.#changes.values()) clearTimeout(timer)
  }
}
