import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { type Static, Type } from 'typebox'
import { matchesWords, requirePrincipal, searchWords } from '../../api/index.ts'
import { formatTimestamp } from '../../base/values/clock.ts'
import { backendKinds, resourceOfPrefix } from '../../resources/index.ts'
import type { Row, Store } from '../../store/index.ts'
import type { BackendListing, BackendPage, BackendTrees } from '../page-data.ts'
import { scanPages } from './scan.ts'

type Data = Readonly<Record<string, unknown>>

/** The online tunnels of an account by their labels. */
export interface LabelledTunnels {
  findLabelled(
    accountId: string,
    labels: Readonly<Record<string, string>>,
  ): readonly {
    readonly id: string
    readonly sessionId: string
    readonly forwardsTo: string
    readonly startedAt: number
    readonly address: { readonly labels?: Readonly<Record<string, string>> | undefined }
  }[]
}

/** Bodies of fixed responses are large: few rows are held at a time. */
const ROWS_PER_READ = 100
/** More cannot be looked through on a page. */
const MAX_TUNNELS = 100
/** The nesting depth up to which the edge itself follows backends. */
const MAX_DEPTH = 8

const WHOLE_NUMBER = Type.String({ pattern: '^[0-9]{1,7}$' })

/** Without parameters: everything, newest first. */
const backendQuery = Type.Object({
  q: Type.Optional(Type.String({ maxLength: 200 })),
  /** Only these kinds, with commas. */
  kinds: Type.Optional(Type.String({ maxLength: 100 })),
  /** Only the backends that send traffic to this one. */
  child: Type.Optional(Type.String({ maxLength: 64 })),
  offset: Type.Optional(WHOLE_NUMBER),
  limit: Type.Optional(WHOLE_NUMBER),
})

const treeQuery = Type.Object({
  /** The ids of the backends, with commas. */
  ids: Type.String({ maxLength: 12_288 }),
})

/**
 * `GET /dashboard/api/backends`: a page of the backends that match, with everything that they send traffic to.
 * `GET /dashboard/api/backend_trees`: the same for backends whose ids are known.
 */
export function mountBackendList(
  http: FastifyInstance,
  {
    authenticate,
    store,
    online,
  }: { authenticate: onRequestHookHandler; store: Store; online: LabelledTunnels },
): void {
  http.get<{ Querystring: Static<typeof backendQuery> }>(
    '/dashboard/api/backends',
    { onRequest: authenticate, schema: { querystring: backendQuery } },
    async (request): Promise<BackendPage> => {
      const { accountId } = requirePrincipal(request)
      const { offset = '0', limit, ...query } = request.query
      const all = await listBackends(store, accountId)
      const matching = selectBackends([...all.values()], query)
      const first = Number(offset)
      const ids = matching
        .slice(first, limit === undefined ? undefined : first + Number(limit))
        .map(({ id }) => id)
      const shown = await collectTrees(ids, async (id) => all.get(id))
      return {
        ids,
        backends: shown.map((backend) => withTunnels(backend, accountId, online)),
        matching: matching.length,
        total: all.size,
      }
    },
  )

  http.get<{ Querystring: Static<typeof treeQuery> }>(
    '/dashboard/api/backend_trees',
    { onRequest: authenticate, schema: { querystring: treeQuery } },
    async (request): Promise<BackendTrees> => {
      const { accountId } = requirePrincipal(request)
      const shown = await collectTrees(request.query.ids.split(','), async (id) => {
        const kind = kindOf(id)
        const row = kind === undefined ? undefined : await store.get(kind, accountId, id)
        return row && describeBackend(row)
      })
      return { backends: shown.map((backend) => withTunnels(backend, accountId, online)) }
    },
  )
}

async function listBackends(store: Store, accountId: string): Promise<Map<string, BackendListing>> {
  const backends: BackendListing[] = []
  for (const kind of backendKinds)
    for await (const rows of scanPages(store, kind, accountId, ROWS_PER_READ))
      backends.push(...rows.map(describeBackend))
  return new Map(backends.map((backend) => [backend.id, backend]))
}

function selectBackends(
  backends: readonly BackendListing[],
  { q = '', kinds, child }: Static<typeof backendQuery>,
): BackendListing[] {
  const words = searchWords(q)
  const selected = kinds && new Set(kinds.split(',').map((kind) => `backends_${kind}`))
  return backends
    .filter((backend) => {
      if (selected && !selected.has(kindOf(backend.id) ?? '')) return false
      if (child !== undefined && !childrenOf(backend).includes(child)) return false
      const { id, description, address = '', labels = {} } = backend
      const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
      return matchesWords([description, id, address, ...pairs], words)
    })
    .sort((one, other) => (creationOf(one) < creationOf(other) ? 1 : -1))
}

/** What follows the prefix of an id begins with the time of its creation, and orders backends of all kinds. */
const creationOf = ({ id }: BackendListing) => id.slice(id.indexOf('_'))

/** Backends and everything below them, each once. */
async function collectTrees(
  ids: readonly string[],
  read: (id: string) => Promise<BackendListing | undefined>,
): Promise<BackendListing[]> {
  const seen = new Set(ids)
  const collected: BackendListing[] = []
  let level = [...seen]
  for (let depth = 0; level.length > 0 && depth <= MAX_DEPTH; depth++) {
    const backends = (await Promise.all(level.map(read))).filter((backend) => backend !== undefined)
    collected.push(...backends)
    level = [...new Set(backends.flatMap(childrenOf))].filter((id) => !seen.has(id))
    for (const id of level) seen.add(id)
  }
  return collected
}

function childrenOf({ backends = [] }: BackendListing): readonly string[] {
  return Array.isArray(backends) ? backends : Object.keys(backends)
}

/** The stored kind of the backend with this id; undefined for other ids. */
function kindOf(id: string): string | undefined {
  const kind = resourceOfPrefix(id.slice(0, id.indexOf('_')))?.kind
  return kind?.startsWith('backends_') ? kind : undefined
}

function describeBackend({ id, createdAt, data }: Row): BackendListing {
  const { description, status_code, body, address, tls, labels, backends } = data as Data
  return {
    id,
    description: String(description ?? ''),
    created_at: formatTimestamp(createdAt),
    ...(status_code !== undefined && {
      status_code: Number(status_code),
      body_bytes: Buffer.byteLength(String(body ?? '')),
    }),
    ...(address !== undefined && {
      address: String(address),
      tls: (tls as Data | null | undefined)?.enabled === true,
    }),
    ...(labels !== undefined && { labels: labels as Record<string, string> }),
    ...(backends !== undefined && { backends: backends as Record<string, number> | readonly string[] }),
  }
}

function withTunnels(backend: BackendListing, accountId: string, online: LabelledTunnels): BackendListing {
  if (backend.labels === undefined) return backend
  const tunnels = online.findLabelled(accountId, backend.labels)
  return {
    ...backend,
    online: tunnels.length,
    tunnels: tunnels.slice(0, MAX_TUNNELS).map(({ id, sessionId, forwardsTo, startedAt, address }) => ({
      id,
      tunnel_session_id: sessionId,
      forwards_to: forwardsTo,
      labels: address.labels ?? {},
      started_at: formatTimestamp(startedAt),
    })),
  }
}
