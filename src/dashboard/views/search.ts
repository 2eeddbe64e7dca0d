import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import {
  fieldProblem,
  matchesWords,
  requirePrincipal,
  searchableTexts,
  searchWords,
} from '../../api/index.ts'
import { allResources, hasRole, type Resource, type Role } from '../../resources/index.ts'
import type { Row, Store } from '../../store/index.ts'
import type { SearchHit, SearchResults } from '../page-data.ts'
import type { OnlineAgents } from './agent-list.ts'

const MAX_QUERY_LENGTH = 200
/** More cannot be looked through in a dialog. */
const MAX_HITS_PER_KIND = 10
/** Bounds the work of one search in a large account: the newest of each kind. */
const MAX_ROWS_PER_KIND = 5000
const PAGE_SIZE = 500
/** Longer texts are certificates, policies and bodies. */
const MAX_FIELD_LENGTH = 256

/** The sources of the search beside the store. */
export interface SearchSources {
  readonly store: Store
  readonly online: OnlineAgents
}

/** `GET /dashboard/api/search?q=…`: finds anything of the account that the caller's role may read. */
export function mountSearch(
  http: FastifyInstance,
  { authenticate, store, online }: SearchSources & { authenticate: onRequestHookHandler },
): void {
  http.get<{ Querystring: { q?: string } }>(
    '/dashboard/api/search',
    { onRequest: authenticate },
    async (request): Promise<SearchResults> => {
      const { accountId, role } = requirePrincipal(request)
      const { q = '' } = request.query
      if (typeof q !== 'string' || q.length > MAX_QUERY_LENGTH)
        throw fieldProblem('q', 'invalid_field', `q has at most ${MAX_QUERY_LENGTH} characters.`)
      const words = searchWords(q)
      if (words.length === 0) return { hits: [], incomplete: false }
      const live = searchOnline(online, accountId, words)
      const stored = await searchStored(store, accountId, role, words)
      return { hits: [...live, ...stored.hits], incomplete: stored.incomplete }
    },
  )
}

function searchOnline(online: OnlineAgents, accountId: string, words: readonly string[]) {
  const agents = online.sessionsOf(accountId).map(({ id, hostname = '', metadata, ip }) => ({
    id,
    kind: 'agent',
    fields: shortFields({ name: metadata || hostname, hostname, metadata, ip }),
  }))
  const tunnels = online.tunnelsOf(accountId).map(({ id, sessionId, address, name, forwardsTo }) => ({
    id,
    kind: 'tunnel',
    fields: shortFields({
      name: address.url ?? name,
      labels: address.labels,
      forwards_to: forwardsTo,
      tunnel_session_id: sessionId,
    }),
  }))
  const matching = (hits: readonly SearchHit[]) =>
    hits.filter((hit) => matches(hit, words)).slice(0, MAX_HITS_PER_KIND)
  return [...matching(agents), ...matching(tunnels)]
}

async function searchStored(store: Store, account: string, role: Role, words: readonly string[]) {
  const hits: SearchHit[] = []
  let incomplete = false
  for (const resource of allResources) {
    if (resource.online || !hasRole(role, resource.roles.read.role)) continue
    const found = await searchKind(store, resource, account, words)
    hits.push(...found.hits)
    incomplete ||= found.incomplete
  }
  return { hits, incomplete }
}

async function searchKind(
  store: Store,
  resource: Resource,
  account: string,
  words: readonly string[],
): Promise<SearchResults> {
  const hits: SearchHit[] = []
  let before: string | undefined
  for (let read = 0; read < MAX_ROWS_PER_KIND; read += PAGE_SIZE) {
    const rows = await store.list(resource.kind, account, { limit: PAGE_SIZE, before })
    for (const row of rows) {
      const hit = { id: row.id, kind: resource.name, fields: visibleFields(resource, row) }
      if (!matches(hit, words)) continue
      if (hits.length === MAX_HITS_PER_KIND) return { hits, incomplete: true }
      hits.push(hit)
    }
    if (rows.length < PAGE_SIZE) return { hits, incomplete: false }
    before = rows.at(-1)!.id
  }
  return { hits, incomplete: true }
}

/** The fields that the API returns; rows have no secrets. */
function visibleFields({ fields }: Resource, { data }: Row): Record<string, unknown> {
  return shortFields(
    Object.fromEntries(
      Object.entries(data).filter(([name]) => {
        const access = fields[name]?.access
        return access !== 'hidden' && access !== 'writeOnly' && access !== 'shownOnce'
      }),
    ),
  )
}

/** Short texts, lists of them and labels, which people search for; no settings of modules. */
function shortFields(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).filter(([name, value]) => {
      if (typeof value === 'string') return value !== '' && value.length <= MAX_FIELD_LENGTH
      if (Array.isArray(value)) return value.length > 0 && value.every((each) => typeof each === 'string')
      return name === 'labels' && typeof value === 'object' && value !== null
    }),
  )
}

const matches = ({ id, fields }: SearchHit, words: readonly string[]) =>
  matchesWords([id, ...searchableTexts(fields)], words)
