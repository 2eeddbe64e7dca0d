import type { ComponentType } from 'react'
import { type ResourcePages, resourcePages } from './resources.ts'

/** What a page is given: the `:names` of its path, and the query behind it. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

/** The parts of the navigation, in their order. */
export const SECTIONS = ['', 'Traffic', 'Access', 'Certificates', 'Events', 'Account'] as const
export type Section = (typeof SECTIONS)[number]

/** One page. Those with a section are in the navigation; those with a key open with `g` and that key. */
export interface PageEntry {
  readonly path: string
  readonly title: string
  readonly section?: Section
  readonly key?: string
  /** Left out of the navigation for those who are not administrators. */
  readonly adminOnly?: boolean
  readonly load: () => Promise<{ default: ComponentType<PageProps> }>
}

/** The list, the form and the page of one of a resource. */
function entriesOf(resource: ResourcePages): PageEntry[] {
  const { route, title, one, section, key, adminOnly = false } = resource
  const load = (which: 'list' | 'create' | 'detail' | 'edit') => async () => {
    const { pagesFor } = await import('./resource/pages.tsx')
    return { default: pagesFor(resource)[which] }
  }
  return [
    { path: route, title, section, adminOnly, load: load('list'), ...(key !== undefined && { key }) },
    { path: `${route}/new`, title: `New ${one}`, load: load('create') },
    { path: `${route}/:id`, title: one, load: load('detail') },
    { path: `${route}/:id/edit`, title: `Edit ${one}`, load: load('edit') },
  ]
}

/** Every page of the dashboard. The first is where one lands. */
export const pages: readonly PageEntry[] = [
  ...resourcePages.flatMap(entriesOf),
  {
    path: '/audit-log',
    title: 'Audit log',
    section: 'Events',
    key: 'w',
    adminOnly: true,
    load: () => import('./audit-page.tsx'),
  },
  {
    path: '/account',
    title: 'Your account',
    section: 'Account',
    key: 'y',
    load: () => import('./account-page.tsx'),
  },
]
