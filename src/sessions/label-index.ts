import type { LiveTunnel } from './live-tunnel.ts'

type Labels = Readonly<Record<string, string>>

interface AccountLabels {
  /** Grows with every change, over all accounts, so that an old answer never looks fresh. */
  version: number
  readonly byLabel: Map<string, Set<LiveTunnel>>
  readonly all: Set<LiveTunnel>
}

interface Answer {
  accountId: string
  version: number
  tunnels: readonly LiveTunnel[]
}

const NONE: readonly LiveTunnel[] = []

/** Finds labelled tunnels by what they must at least be labelled with. Asked per connection, so answers are kept. */
export class LabelIndex {
  readonly #accounts = new Map<string, AccountLabels>()
  readonly #answers = new WeakMap<Labels, Answer>()
  #version = 0

  add(tunnel: LiveTunnel): void {
    const account = this.#accountOf(tunnel.accountId)
    account.version = ++this.#version
    account.all.add(tunnel)
    for (const label of keysOf(tunnel.labels!)) {
      const holders = account.byLabel.get(label)
      if (holders === undefined) account.byLabel.set(label, new Set([tunnel]))
      else holders.add(tunnel)
    }
  }

  remove(tunnel: LiveTunnel): void {
    const account = this.#accounts.get(tunnel.accountId)
    if (account === undefined || !account.all.delete(tunnel)) return
    account.version = ++this.#version
    for (const label of keysOf(tunnel.labels!)) {
      const holders = account.byLabel.get(label)
      holders?.delete(tunnel)
      if (holders?.size === 0) account.byLabel.delete(label)
    }
    if (account.all.size === 0) this.#accounts.delete(tunnel.accountId)
  }

  /** The same array for the same selector until a labelled tunnel of the account comes or goes. */
  find(accountId: string, selector: Labels): readonly LiveTunnel[] {
    const account = this.#accounts.get(accountId)
    if (account === undefined) return NONE
    const known = this.#answers.get(selector)
    if (known !== undefined && known.version === account.version && known.accountId === accountId) {
      return known.tunnels
    }
    const tunnels = search(account, selector)
    this.#answers.set(selector, { accountId, version: account.version, tunnels })
    return tunnels
  }

  #accountOf(accountId: string): AccountLabels {
    let account = this.#accounts.get(accountId)
    if (account === undefined) {
      account = { version: 0, byLabel: new Map(), all: new Set() }
      this.#accounts.set(accountId, account)
    }
    return account
  }
}

function search(account: AccountLabels, selector: Labels): readonly LiveTunnel[] {
  const wanted = Object.entries(selector)
  // The rarest label leaves the fewest tunnels to look at; without labels everything matches.
  let candidates: Iterable<LiveTunnel> = account.all
  let fewest = Number.POSITIVE_INFINITY
  for (const label of keysOf(selector)) {
    const holders = account.byLabel.get(label)
    if (holders === undefined) return NONE
    if (holders.size < fewest) {
      fewest = holders.size
      candidates = holders
    }
  }
  return [...candidates].filter(({ labels }) => wanted.every(([key, value]) => labels![key] === value))
}

function keysOf(labels: Labels): string[] {
  // A zero byte cannot be part of a label, so no two labels share a key.
  return Object.entries(labels).map(([key, value]) => `${key}\0${value}`)
}
