import { formatTimestamp } from '../../../base/values/clock.ts'
import { ApplicationSession, ApplicationUser, type Resource } from '../../../resources/index.ts'
import type { ApplicationSessionRow, ApplicationUserRow } from '../../../store/index.ts'
import type { ApiCall } from '../../call.ts'
import { auditEntry, type OnlineQuery } from '../../crud/crud.ts'
import { type ApiOperation, onlineOperations, operation } from '../../crud/operations.ts'
import { problem } from '../../problems.ts'
import { resourceRoutes } from '../../routes.ts'
import { parseUserAgent } from './user-agent.ts'

type Body = Record<string, unknown>

function describeUser({ id, profile, ...times }: ApplicationUserRow, { renderContext }: ApiCall): Body {
  return {
    id,
    uri: renderContext.uriOf(id),
    created_at: formatTimestamp(times.createdAt),
    ...profile,
    last_active: formatTimestamp(times.lastActive),
    last_login: formatTimestamp(times.lastLogin),
  }
}

function describeSession({ id, userId, details, ...times }: ApplicationSessionRow, call: ApiCall): Body {
  const { uriOf } = call.renderContext
  const { edge_id: edgeId, route_id: routeId } = details
  const toRef = (target: string | null) => target && { id: target, uri: uriOf(target) }
  return {
    id,
    uri: uriOf(id),
    created_at: formatTimestamp(times.createdAt),
    public_url: details.public_url,
    browser_session: {
      user_agent: parseUserAgent(details.user_agent),
      ip_address: details.ip_address,
      location: details.location,
    },
    application_user: toRef(userId),
    last_active: formatTimestamp(times.lastActive),
    expires_at: formatTimestamp(times.expiresAt),
    endpoint: toRef(details.endpoint_id),
    edge: toRef(edgeId),
    // A route is below its edge.
    route: routeId && edgeId && { id: routeId, uri: `${uriOf(edgeId)}/routes/${routeId}` },
  }
}

/** List, get and delete of what visitors create by signing in. */
function visitorOperations(
  resource: Resource,
  items: (call: ApiCall, query: OnlineQuery) => Promise<Body[]>,
  remove: (call: ApiCall, id: string) => Promise<boolean>,
): ApiOperation[] {
  const routes = resourceRoutes(resource)
  return [
    ...onlineOperations(resource, items, routes),
    operation(routes.delete, async (call, { params: { id } }) => {
      if (!(await remove(call, id))) throw problem('not_found', resource.name, id)
      await call.store.write({}, (tx) => tx.audit(auditEntry(call, id)))
      return undefined
    }),
  ]
}

/** The visitors who have signed in, and their sessions. Deleting either signs out on every node before the answer. */
export const applicationOperations: ApiOperation[] = [
  ...visitorOperations(
    ApplicationUser,
    async (call, query) => {
      const users = await call.dependencies.applicationSessions.users(call.principal.accountId, query)
      return users.map((user) => describeUser(user, call))
    },
    ({ dependencies, principal }, id) => dependencies.applicationSessions.removeUser(principal.accountId, id),
  ),
  ...visitorOperations(
    ApplicationSession,
    async (call, query) => {
      const sessions = await call.dependencies.applicationSessions.sessions(call.principal.accountId, query)
      return sessions.map((session) => describeSession(session, call))
    },
    ({ dependencies, principal }, id) => dependencies.applicationSessions.endSession(principal.accountId, id),
  ),
]
