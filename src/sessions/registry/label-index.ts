import type { LiveTunnel } from '../session/live-tunnel.ts'

type Labels = Readonly<Record<string, string>>

interface AccountLabels {
  /** Increases with every change across all accounts, so a stale result never looks fresh. */
  version: number
  readonly byLabel: Map<string, Set<LiveTunnel>>
  readonly tunnels: Set<LiveTunnel>
}

interface CachedResult {
  accountId: string
  version: number
  tunnels: readonly LiveTunnel[]
}

const NONE: readonly LiveTunnel[] = []

/** Finds labelled tunnels by a label selector. Called for each connection, so results are cached. */
export class LabelIndex {
  readonly #accounts = new Map<string, AccountLabels>()
  readonly #cache = new WeakMap<Labels, CachedResult>()
  #version = 0

  add(tunnel: LiveTunnel, labels: Labels): void {
    const account = this.#accountOf(tunnel.accountId)
    account.version = ++this.#version
    account.tunnels.add(tunnel)
    for (const label of labelKeys(labels)) {
      const holders = account.byLabel.get(label)
      if (holders === undefined) account.byLabel.set(label, new Set([tunnel]))
      else holders.add(tunnel)
    }
  }

  remove(tunnel: LiveTunnel, labels: Labels): void {
    const account = this.#accounts.get(tunnel.accountId)
    if (account === undefined || !account.tunnels.delete(tunnel)) return
    account.version = ++this.#version
    for (const label of labelKeys(labels)) {
      const holders = account.byLabel.get(label)
      holders?.delete(tunnel)
      if (holders?.size === 0) account.byLabel.delete(label)
    }
    if (account.tunnels.size === 0) this.#accounts.delete(tunnel.accountId)
  }

  /** Returns the same array for the same selector until a labelled tunnel of the account starts or stops. */
  find(accountId: string, selector: Labels): readonly LiveTunnel[] {
    const account = this.#accounts.get(accountId)
    if (account === undefined) return NONE
    const cached = this.#cache.get(selector)
    if (cached !== undefined && cached.version === account.version && cached.accountId === accountId) {
      return cached.tunnels
    }
    const tunnels = search(account, selector)
    this.#cache.set(selector, { accountId, version: account.version, tunnels })
    return tunnels
  }

  #accountOf(accountId: string): AccountLabels {
    let account = this.#accounts.get(accountId)
    if (account === undefined) {
      account = { version: 0, byLabel: new Map(), tunnels: new Set() }
      this.#accounts.set(accountId, account)
    }
    return account
  }
}

function search(account: AccountLabels, selector: Labels): readonly LiveTunnel[] {
  // Start from the rarest label; an empty selector matches everything.
  let candidates = account.tunnels
  const required: Set<LiveTunnel>[] = []
  for (const label of labelKeys(selector)) {
    const holders = account.byLabel.get(label)
    if (holders === undefined) return NONE
    required.push(holders)
    if (holders.size < candidates.size) candidates = holders
  }
  return [...candidates].filter((tunnel) => required.every((holders) => holders.has(tunnel)))
}

function labelKeys(labels: Labels): string[] {
  // Labels cannot contain NUL, so no two labels share a key.
  return Object.entries(labels).map(([key, value]) => `${key}\0${value}`)
}
