import type {
  SessionDetails,
  SessionLocation,
  StartedSession,
  UserProfile,
} from '../../../resources/index.ts'
import type { Exchange } from '../../contracts/exchange.ts'
import type { FailurePlace } from '../provider/failure-log.ts'
import type { Identity } from '../sign-in.ts'
import { toSubject } from './revocations.ts'
import type { Session, SessionLifetime } from './session.ts'

/** Where an address is; undefined when nothing is known about it. */
export type Locate = (address: string) => SessionLocation | undefined

/** How often the activity of a session is reported. */
export const ACTIVITY_SECONDS = 60

const MAX_USER_AGENT_LENGTH = 1024

/** A new session as the lists of its account show it. */
export function describeSession(
  exchange: Exchange,
  session: Session,
  context: {
    readonly accountId: string
    readonly user: string
    readonly provider: UserProfile['identity_provider']
    readonly origin: string
    readonly lifetime: SessionLifetime
    readonly locate: Locate
    /** Where its provider revokes it, if not in its own scope. */
    readonly revocationScope: string | undefined
  },
): StartedSession {
  const { lifetime, revocationScope } = context
  const { id, scopeId, identity, since } = session
  return {
    id,
    account: context.accountId,
    scopeId,
    person: toSubject(identity.id),
    ...(revocationScope !== undefined && { client: revocationScope }),
    ...(identity.atProvider?.session !== undefined && { providerSession: identity.atProvider.session }),
    user: context.user,
    profile: toProfile(identity, context.provider),
    details: describeOrigin(exchange, context.origin, context.locate),
    startedAt: since * 1000,
    endsAt: lifetime.endsAt(session) * 1000,
    expiresAt: lifetime.expiresAt(session, since + ACTIVITY_SECONDS) * 1000,
  }
}

function toProfile(
  { id, name, email, claims }: Identity,
  identity_provider: UserProfile['identity_provider'],
): UserProfile {
  const { preferred_username: username } = claims
  return {
    identity_provider,
    provider_user_id: id,
    username: typeof username === 'string' ? username.slice(0, 255) : '',
    email,
    name,
  }
}

function describeOrigin(exchange: Exchange, origin: string, locate: Locate): SessionDetails {
  const { connection, fields } = exchange
  return {
    ...describePlace(exchange, origin),
    user_agent: (fields.get('user-agent') ?? '').slice(0, MAX_USER_AGENT_LENGTH),
    ip_address: connection.remoteAddress,
    location: locate(connection.remoteAddress) ?? null,
  }
}

/** The endpoint, or the edge and its route, at which a visitor signs in. */
export function describePlace(
  { httpHost, route }: Pick<Exchange, 'httpHost' | 'route'>,
  origin: string,
): FailurePlace {
  const id = httpHost?.id ?? ''
  const isEdge = id.startsWith('edghts_')
  return {
    public_url: origin,
    endpoint_id: isEdge || id === '' ? null : id.replace(/^tn_/, 'ep_'),
    edge_id: isEdge ? id : null,
    route_id: route?.id.startsWith('edghtsrt_') ? route.id : null,
  }
}
