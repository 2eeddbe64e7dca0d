import type { PageEntry, ResourcePages } from './page-contracts.ts'
import { allows, cloudEndpoints, resourcePages } from './resources.ts'

/** The list, create, detail and edit pages of a resource. */
function entriesOf(resource: ResourcePages): PageEntry[] {
  const { route, path: changes, title, singular, section, below, key, adminOnly = false } = resource
  const load = (page: 'list' | 'create' | 'detail' | 'edit') => async () => {
    const { pagesFor } = await import('./resource/pages.tsx')
    return { default: pagesFor(resource)[page] }
  }
  const list: PageEntry = {
    path: route,
    title,
    adminOnly,
    load: load('list'),
    ...(section !== undefined && { section }),
    ...(below !== undefined && { below }),
    ...(key !== undefined && { key }),
  }
  const create = { path: `${route}/new`, title: `New ${singular}`, adminOnly, changes, load: load('create') }
  const heading = singular.charAt(0).toUpperCase() + singular.slice(1)
  const detail = { path: `${route}/:id`, title: heading, adminOnly, load: load('detail') }
  const edit = {
    path: `${route}/:id/edit`,
    title: `Edit ${singular}`,
    adminOnly,
    changes,
    load: load('edit'),
  }
  return [
    list,
    ...(allows(resource, 'create') ? [create] : []),
    detail,
    ...(allows(resource, 'update') ? [edit] : []),
  ]
}

/** Every page of the dashboard. The first is the start page. */
export const pages: readonly PageEntry[] = [
  {
    path: '/overview',
    title: 'Overview',
    section: '',
    key: 'o',
    load: () => import('./pages/overview/overview-page.tsx'),
  },
  {
    path: '/agents',
    title: 'Agents',
    section: 'Traffic',
    key: 'a',
    load: () => import('./pages/agents/agents-page.tsx'),
  },
  { path: '/agents/:id', title: 'Agent', load: () => import('./pages/agents/agent-page.tsx') },
  {
    path: '/endpoints',
    title: 'Endpoints',
    section: 'Traffic',
    key: 'e',
    load: () => import('./pages/endpoints/endpoints-page.tsx'),
  },
  // The list shows the endpoints of agents and edges too.
  ...entriesOf(cloudEndpoints).slice(1),
  {
    path: '/domains',
    title: 'Domains',
    section: 'Traffic',
    key: 'd',
    load: () => import('./pages/domains/domains-page.tsx'),
  },
  {
    path: '/domains/new',
    title: 'New domain',
    changes: '/reserved_domains',
    load: () => import('./pages/domains/new-domain-page.tsx'),
  },
  { path: '/domains/:id', title: 'Domain', load: () => import('./pages/domains/domain-page.tsx') },
  {
    path: '/edges',
    title: 'Edges',
    section: 'Traffic',
    key: 'h',
    load: () => import('./pages/edges/edges-page.tsx'),
  },
  {
    path: '/edges/new',
    title: 'New edge',
    changes: '/edges/https',
    load: () => import('./pages/edges/new-edge-page.tsx'),
  },
  { path: '/edges/:id', title: 'Edge', load: () => import('./pages/edges/edge-page.tsx') },
  {
    path: '/backends',
    title: 'Backends',
    section: 'Traffic',
    key: 'b',
    load: () => import('./pages/backends/backends-page.tsx'),
  },
  {
    path: '/backends/new',
    title: 'New backend',
    changes: '/backends/tunnel_group',
    load: () => import('./pages/backends/new-backend-page.tsx'),
  },
  { path: '/backends/:id', title: 'Backend', load: () => import('./pages/backends/backend-page.tsx') },
  ...resourcePages.flatMap(entriesOf),
  {
    path: '/audit-log',
    title: 'Audit log',
    section: 'Events',
    key: 'w',
    adminOnly: true,
    load: () => import('./pages/audit/audit-page.tsx'),
  },
  {
    path: '/account',
    title: 'Your account',
    section: 'Account',
    key: 'y',
    load: () => import('./account-page.tsx'),
  },
  {
    path: '/reference',
    title: 'API reference',
    section: 'Account',
    key: 'f',
    load: () => import('./pages/reference/reference-page.tsx'),
  },
  {
    path: '/reference/:operation',
    title: 'API reference',
    load: () => import('./pages/reference/operation-page.tsx'),
  },
]
