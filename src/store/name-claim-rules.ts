/** A listener that a public name is served on; https and tls share one. */
export type NameListener = 'http' | 'https' | 'tcp'

/** The session and bind that ask for a name. */
export interface NameClaimRequest {
  /** The host name with its labels reversed, or `tcp:<port>`. */
  readonly name: string
  readonly listener: NameListener
  /** The id the tunnel gets; identifies the claim. */
  readonly tunnel: string
  readonly account: string
  readonly credential: string
  /** Names the agent across its connections. */
  readonly client: string
  readonly session: string
  /** The agent's own id of the bind. */
  readonly bind: string
  readonly proto: string
  readonly pooled: boolean
}

/** A claim as stored. */
export interface NameClaim extends NameClaimRequest {
  /** Grows with every claim granted; of two claims on one name the lower fence is the stale one. */
  readonly fence: number
  /** Wall-clock time of the last use; undefined while the name is held. */
  readonly releasedAt: number | undefined
  /** After its release the name waits for its credential, since the session was lost. */
  readonly kept: boolean
}

/** How long a name stays out of reach after its last use. */
export interface NameSpans {
  /** Of other credentials, after its session was lost. */
  readonly graceMs: number
  /** Of other accounts. */
  readonly cooldownMs: number
}

export type NameClaimOutcome =
  | { readonly granted: true; readonly fence: number }
  /** `held`: online now, by these sessions. `kept`: waits for another credential. `cooldown`: another account's. */
  | {
      readonly granted: false
      readonly because: 'held' | 'kept' | 'cooldown'
      readonly holders: readonly { readonly session: string; readonly credential: string }[]
    }

/** What granting a claim replaces, or why it is refused. `claims` are those on the name, on any listener. */
export type NameClaimDecision =
  | { readonly granted: true; readonly replaced: readonly NameClaim[]; readonly fence: number | undefined }
  | Extract<NameClaimOutcome, { granted: false }>

/**
 * Decides a claim. Other accounts are kept off the whole host name, on every listener, while it is held and until its
 * cooldown ends. Within the account the rules are those of one listener: the same agent replaces its own former
 * tunnel, pooled tunnels share, and a name whose session was lost waits for its credential.
 */
export function decideNameClaim(
  request: NameClaimRequest,
  claims: readonly NameClaim[],
  wallMs: number,
  spans: NameSpans,
): NameClaimDecision {
  const reject = (reason: 'held' | 'kept' | 'cooldown', holders: readonly NameClaim[] = []) => ({
    granted: false as const,
    because: reason,
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
      claim.kept &&
      claim.releasedAt !== undefined &&
      wallMs - claim.releasedAt < spans.graceMs &&
      claim.credential !== request.credential,
  )
  if (awaitingCredential && active.length === 0) return reject('kept')
  const fence = sameListener.find(({ tunnel }) => tunnel === request.tunnel)?.fence
  return {
    granted: true,
    replaced: [...otherAccounts, ...sameListener.filter((claim) => !active.includes(claim))],
    fence,
  }
}

/** Whether a released name may not be used by other accounts yet. */
export function isUnavailableToOthers(
  { releasedAt, kept }: Pick<NameClaim, 'releasedAt' | 'kept'>,
  wallMs: number,
  { graceMs, cooldownMs }: NameSpans,
): boolean {
  if (releasedAt === undefined) return true
  return wallMs - releasedAt < Math.max(kept ? graceMs : 0, cooldownMs)
}

/** The same bind in the same session, or any of a former connection of the same agent. */
function isReplacedBy(claim: NameClaim, request: NameClaimRequest): boolean {
  if (claim.session === request.session) return claim.bind === request.bind
  return claim.credential === request.credential && claim.client === request.client
}
