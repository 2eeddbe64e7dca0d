import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { requirePrincipal } from '../api/index.ts'
import { resourceOfPrefix } from '../resources/index.ts'
import type { Store } from '../store/index.ts'
import type { AgentIdentity } from './page-data.ts'

/** The online sessions of an account, as far as they tell agents apart. */
export interface OnlineAgents {
  sessionsOf(accountId: string): readonly {
    readonly id: string
    readonly hostname?: string
    readonly ownerId: string
    readonly credentialId: string
    readonly metadata: string
    readonly ip: string
  }[]
}

/**
 * `GET /dashboard/api/agents`: the host name, user and credential of every agent that is online. Names of other users are
 * for administrators (decision 19).
 */
export function mountAgentList(
  http: FastifyInstance,
  { authenticate, store, online }: { authenticate: onRequestHookHandler; store: Store; online: OnlineAgents },
): void {
  http.get('/dashboard/api/agents', { onRequest: authenticate }, async (request) => {
    const { accountId, ownerId, role } = requirePrincipal(request)
    const names = new Map<string, Promise<string>>()
    const nameOf = (id: string) => {
      const name = names.get(id) ?? readName(store, accountId, id)
      names.set(id, name)
      return name
    }
    const agents = online.sessionsOf(accountId).map(
      async (session): Promise<AgentIdentity> => ({
        id: session.id,
        hostname: session.hostname ?? '',
        owner: {
          id: session.ownerId,
          name: role === 'admin' || session.ownerId === ownerId ? await nameOf(session.ownerId) : '',
        },
        credential: { id: session.credentialId, name: await nameOf(session.credentialId) },
      }),
    )
    return { agents: await Promise.all(agents) }
  })
}

/** What people call a user or a credential; empty for one without a name. */
async function readName(store: Store, account: string, id: string): Promise<string> {
  const kind = resourceOfPrefix(id.slice(0, id.indexOf('_')))?.kind
  const data = kind === undefined ? undefined : (await store.get(kind, account, id))?.data
  const { email, name, description } = (data ?? {}) as Record<string, unknown>
  return String(email ?? (name || description) ?? '')
}
