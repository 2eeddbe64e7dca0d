/** A listener that serves a public name; https and tls share one. */
export type NameListener = 'http' | 'https' | 'tcp'

/** A request of a session and bind to claim a name. */
export interface NameClaimRequest {
  /** The host name with its labels reversed, or `tcp:<port>`. */
  readonly name: string
  readonly listener: NameListener
  /** The id of the tunnel; identifies the claim. */
  readonly tunnel: string
  readonly account: string
  readonly credential: string
  /** Identifies the agent across its connections. */
  readonly client: string
  readonly session: string
  /** The id that the agent gave the bind. */
  readonly bind: string
  readonly proto: string
  readonly pooled: boolean
}

/** A stored claim. */
export interface NameClaim extends NameClaimRequest {
  /** Grows with every granted claim; of two claims on one name the one with the lower fence is stale. */
  readonly fence: number
  /** Wall-clock time of the last use; undefined while the name is held. */
  readonly releasedAt: number | undefined
  /** The session was lost: the released name is in its grace period, reserved for its credential. */
  readonly inGrace: boolean
}

/** How long a name stays reserved after its last use. */
export interface NameSpans {
  /** Against other credentials, after its session was lost. */
  readonly graceMs: number
  /** Against other accounts. */
  readonly cooldownMs: number
}

/** The names to check: `names`, and all names that begin with `prefix`. */
export interface NameUseQuery {
  readonly names?: readonly string[]
  readonly prefix?: string
  /** Also the names that the account itself holds. */
  readonly includeHeld?: boolean
  readonly limit: number
}

export type NameClaimOutcome =
  | { readonly granted: true; readonly fence: number }
  /** `held`: online in these sessions. `in_grace`: in the grace period of another credential. `cooldown`: of another account. */
  | {
      readonly granted: false
      readonly reason: 'held' | 'in_grace' | 'cooldown'
      readonly holders: readonly { readonly session: string; readonly credential: string }[]
    }

/** A granted claim with the claims it replaces, or the reason for its rejection. */
export type NameClaimDecision =
  | { readonly granted: true; readonly replaced: readonly NameClaim[]; readonly fence: number | undefined }
  | Extract<NameClaimOutcome, { granted: false }>

/**
 * Decides a claim; `claims` are the claims on the same name, on any listener. Other accounts are excluded from the host
 * name on every listener while it is held and until its cooldown ends. Within the account each listener is decided
 * separately: an agent replaces its own previous tunnel, pooled tunnels share the name, and the name of a lost session is
 * reserved for its credential during the grace period.
 */
export function decideNameClaim(
  request: NameClaimRequest,
  claims: readonly NameClaim[],
  wallMs: number,
  spans: NameSpans,
): NameClaimDecision {
  const reject = (
    reason: 'held' | 'in_grace' | 'cooldown',
    holders: readonly NameClaim[] = [],
  ): Extract<NameClaimOutcome, { granted: false }> => ({
    granted: false,
    reason: reason,
    holders: holders.map(({ session, credential }) => ({ session, credential })),
  })
  const otherAccounts = claims.filter((claim) => claim.account !== request.account)
  if (otherAccounts.some((claim) => claim.releasedAt === undefined)) return reject('held')
  if (otherAccounts.some((claim) => isUnavailableToOthers(claim, wallMs, spans))) return reject('cooldown')

  const sameListener = claims.filter(
    ({ account, listener }) => account === request.account && listener === request.listener,
  )
  const replaceable = sameListener.filter((claim) => isReplacedBy(claim, request))
  const active = sameListener.filter(
    (claim) => claim.releasedAt === undefined && !replaceable.includes(claim),
  )
  if (!active.every((claim) => claim.pooled && request.pooled && claim.proto === request.proto))
    return reject('held', active)
  const awaitingCredential = sameListener.some(
    (claim) =>
      claim.inGrace &&
      claim.releasedAt !== undefined &&
      wallMs - claim.releasedAt < spans.graceMs &&
      claim.credential !== request.credential,
  )
  if (awaitingCredential && active.length === 0) return reject('in_grace')
  const fence = sameListener.find(({ tunnel }) => tunnel === request.tunnel)?.fence
  return {
    granted: true,
    replaced: [...otherAccounts, ...sameListener.filter((claim) => !active.includes(claim))],
    fence,
  }
}

/** Whether a name is still reserved against other accounts. */
export function isUnavailableToOthers(
  { releasedAt, inGrace }: Pick<NameClaim, 'releasedAt' | 'inGrace'>,
  wallMs: number,
  { graceMs, cooldownMs }: NameSpans,
): boolean {
  if (releasedAt === undefined) return true
  return wallMs - releasedAt < Math.max(inGrace ? graceMs : 0, cooldownMs)
}

/** The same bind in the same session, or any bind of a previous connection of the same agent. */
function isReplacedBy(claim: NameClaim, request: NameClaimRequest): boolean {
  if (claim.session === request.session) return claim.bind === request.bind
  return claim.credential === request.credential && claim.client === request.client
}
