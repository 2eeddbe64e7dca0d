import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { type Static, Type } from 'typebox'
import { matchesWords, requirePrincipal, searchWords } from '../../api/index.ts'
import { resourceOfPrefix } from '../../resources/index.ts'
import type { Store } from '../../store/index.ts'
import type { AgentIdentity, AgentIdentityPage } from '../page-data.ts'

/** An online session, as far as it tells agents apart. */
interface OnlineAgent {
  readonly id: string
  readonly startedAt: number
  readonly hostname?: string
  readonly ownerId: string
  readonly credentialId: string
  readonly metadata: string
  readonly ip: string
}

/** The online sessions and tunnels of an account. */
export interface OnlineAgents {
  sessionsOf(accountId: string): readonly OnlineAgent[]
  tunnelsOf(accountId: string): readonly {
    readonly id: string
    readonly sessionId: string
    readonly address: {
      readonly url?: string | undefined
      readonly labels?: Readonly<Record<string, string>> | undefined
    }
    readonly name: string
    readonly forwardsTo: string
  }[]
}

const WHOLE_NUMBER = Type.String({ pattern: '^[0-9]{1,7}$' })

/** Without parameters: everything, newest first. */
const agentQuery = Type.Object({
  q: Type.Optional(Type.String({ maxLength: 200 })),
  /** Only the agent with this session. */
  id: Type.Optional(Type.String({ maxLength: 64 })),
  offset: Type.Optional(WHOLE_NUMBER),
  limit: Type.Optional(WHOLE_NUMBER),
})

/**
 * `GET /dashboard/api/agents`: the host name, user and credential of the agents that are online and have every word of a search.
 * Names of other users are for administrators (decision 19).
 */
export function mountAgentList(
  http: FastifyInstance,
  { authenticate, store, online }: { authenticate: onRequestHookHandler; store: Store; online: OnlineAgents },
): void {
  http.get<{ Querystring: Static<typeof agentQuery> }>(
    '/dashboard/api/agents',
    { onRequest: authenticate, schema: { querystring: agentQuery } },
    async (request): Promise<AgentIdentityPage> => {
      const { accountId, ownerId, role } = requirePrincipal(request)
      const { q = '', id, offset = '0', limit } = request.query
      const names = new Map<string, Promise<string>>()
      const nameOf = (id: string) => {
        const name = names.get(id) ?? readName(store, accountId, id)
        names.set(id, name)
        return name
      }
      const identify = async (session: OnlineAgent): Promise<AgentIdentity> => ({
        id: session.id,
        hostname: session.hostname ?? '',
        owner: {
          id: session.ownerId,
          name: role === 'admin' || session.ownerId === ownerId ? await nameOf(session.ownerId) : '',
        },
        credential: { id: session.credentialId, name: await nameOf(session.credentialId) },
      })
      const sessions = online.sessionsOf(accountId)
      const words = searchWords(q)
      const tunnelTexts = words.length === 0 ? new Map<string, string[]>() : textsOfTunnels(online, accountId)
      const isMatching = async (session: OnlineAgent) => {
        if (id !== undefined) return session.id === id
        if (words.length === 0) return true
        const { hostname, owner, credential } = await identify(session)
        const texts = [
          session.id,
          session.metadata,
          session.ip,
          hostname,
          owner.name,
          credential.name,
          credential.id,
        ]
        return matchesWords([...texts, ...(tunnelTexts.get(session.id) ?? [])], words)
      }
      const matches = await Promise.all(sessions.map(isMatching))
      const matching = sessions
        .filter((_, index) => matches[index])
        .sort((one, other) => other.startedAt - one.startedAt || (one.id < other.id ? 1 : -1))
      const first = Number(offset)
      const page = matching.slice(first, limit === undefined ? undefined : first + Number(limit))
      return {
        agents: await Promise.all(page.map(identify)),
        matching: matching.length,
        total: sessions.length,
      }
    },
  )
}

/** What the tunnels of each session are found by. */
function textsOfTunnels(online: OnlineAgents, accountId: string): Map<string, string[]> {
  const texts = new Map<string, string[]>()
  for (const { sessionId, address, name, forwardsTo } of online.tunnelsOf(accountId)) {
    const labels = Object.entries(address.labels ?? {}).map(([key, value]) => `${key}=${value}`)
    texts.set(sessionId, [...(texts.get(sessionId) ?? []), address.url ?? '', name, forwardsTo, ...labels])
  }
  return texts
}

/** What people call a user or a credential; empty for one without a name. */
async function readName(store: Store, account: string, id: string): Promise<string> {
  const kind = resourceOfPrefix(id.slice(0, id.indexOf('_')))?.kind
  const data = kind === undefined ? undefined : (await store.get(kind, account, id))?.data
  const { email, name, description } = (data ?? {}) as Record<string, unknown>
  return String(email ?? (name || description) ?? '')
}
