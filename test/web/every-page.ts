import type { StoredKind } from '../support/samples.ts'
import { collectionPath, samples } from '../support/samples.ts'
import type { TestDashboard } from './dashboard.ts'

/** Texts that break layouts: a token without a place to break, long words, right-to-left scripts and CJK. */
const TEXTS = [
  `https://example.com/${'averylongpathwithoutanyplacetobreak'.repeat(4)} for the internationalization of telecommunications`,
  'خادم الويب الداخلي لفريق التطوير في المكتب الرئيسي، shop.example.com وكل ما يتعلق به',
  '社内開発チームのウェブサーバー、本番環境へ移行する前の検証用エンドポイントです。空白のない長い説明文',
  'שרת האינטרנט הפנימי של צוות הפיתוח (beta)',
] as const

const LABEL = 'a-label-of-sixty-three-characters-that-makes-host-names-long-ab'

/** Fields of a sample that would get in the way of the others. */
const OVERRIDES: Partial<Record<StoredKind, (text: string, index: number) => Record<string, unknown>>> = {
  ip_restrictions: () => ({ enforced: false }),
  users: (text, index) => ({ name: text, email: `${LABEL}.${index}@${LABEL}.example.com`, active: true }),
  bot_users: (text) => ({ name: text }),
  reserved_domains: (_, index) => ({ domain: `app${index}.${LABEL}.${LABEL}.example.com` }),
}

const WITHOUT_TEXTS = new Set<StoredKind>(['users', 'bot_users', 'abuse_reports'])

/** The pages of one kind, in the dashboard. */
const ROUTES: Partial<Record<StoredKind, string>> = {
  reserved_domains: '/domains',
  edges_https: '/edges',
  edges_tls: '/edges',
  edges_tcp: '/edges',
  backends_http_response: '/backends',
  backends_tunnel_group: '/backends',
  backends_weighted: '/backends',
  backends_failover: '/backends',
  backends_static: '/backends',
}

/** Creates objects of every kind with such texts, and returns the path of every page. */
export async function createEveryPage(
  { platform }: TestDashboard,
  allPages: readonly { path: string; section?: string; below?: string }[],
  resourcePages: readonly { path: string; route: string; operations?: readonly string[] }[],
): Promise<string[]> {
  const { call } = platform
  const shown = allPages.filter(({ section, below }) => section !== undefined || below !== undefined)
  const paths = new Set(shown.map(({ path }) => path))
  for (const path of ['/reference/edges_https_routes.create', '/domains/new', '/edges/new', '/backends/new'])
    paths.add(path)
  let index = 0
  for (const kind of Object.keys(samples) as StoredKind[]) {
    const parents = (await samples[kind].parents?.(call)) ?? {}
    const path = collectionPath(kind, parents)
    const pages = resourcePages.find((page) => page.path === path)
    const route = ROUTES[kind] ?? pages?.route
    if (route === undefined && kind !== 'edges_https_routes') continue
    // Uploaded material is the same each time, so there can be only one.
    const text = TEXTS[index++ % TEXTS.length]!
    const texts = WITHOUT_TEXTS.has(kind) ? {} : { description: text, metadata: TEXTS.join('\n') }
    const body = { ...(await samples[kind].create(call)), ...texts, ...OVERRIDES[kind]?.(text, index) }
    const { id } = await call.create(path, body)
    if (route === undefined) {
      await call('PATCH', `/edges/https/${parents.edge_id}`, { body: { description: TEXTS[0] } })
      paths.add(`/edges/${parents.edge_id}`)
      continue
    }
    paths.add(route).add(`${route}/${id}`)
    const isEditable = pages?.operations === undefined
    if (pages) paths.add(isEditable && index % 3 !== 0 ? `${route}/${id}/edit` : `${route}/new`)
  }
  return [...paths]
}
