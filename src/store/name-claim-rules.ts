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
  wall: number,
  spans: NameSpans,
): NameClaimDecision {
  const refuse = (because: 'held' | 'kept' | 'cooldown', holders: readonly NameClaim[] = []) => ({
    granted: false as const,
    because,
    holders: holders.map(({ session, credential }) => ({ session, credential })),
  })
  const foreign = claims.filter((claim) => claim.account !== request.account)
  if (foreign.some((claim) => claim.releasedAt === undefined)) return refuse('held')
  if (foreign.some((claim) => isOutOfReach(claim, wall, spans))) return refuse('cooldown')

  const own = claims.filter(
    ({ account, listener }) => account === request.account && listener === request.listener,
  )
  const former = own.filter((claim) => isFormer(claim, request))
  const held = own.filter((claim) => claim.releasedAt === undefined && !former.includes(claim))
  if (!held.every((claim) => claim.pooled && request.pooled && claim.proto === request.proto))
    return refuse('held', held)
  const waiting = own.some(
    (claim) =>
      claim.kept &&
      claim.releasedAt !== undefined &&
      wall - claim.releasedAt < spans.graceMs &&
      claim.credential !== request.credential,
  )
  if (waiting && held.length === 0) return refuse('kept')
  const fence = own.find(({ tunnel }) => tunnel === request.tunnel)?.fence
  return { granted: true, replaced: [...foreign, ...own.filter((claim) => !held.includes(claim))], fence }
}

/** Whether a released name may not be used by other accounts yet. */
export function isOutOfReach(
  { releasedAt, kept }: Pick<NameClaim, 'releasedAt' | 'kept'>,
  wall: number,
  { graceMs, cooldownMs }: NameSpans,
): boolean {
  if (releasedAt === undefined) return true
  return wall - releasedAt < Math.max(kept ? graceMs : 0, cooldownMs)
}

/** The same bind in the same session, or any of a former connection of the same agent. */
function isFormer(claim: NameClaim, request: NameClaimRequest): boolean {
  if (claim.session === request.session) return claim.bind === request.bind
  return claim.credential === request.credential && claim.client === request.client
}
