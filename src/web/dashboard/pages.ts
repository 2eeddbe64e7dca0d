import type { ComponentType } from 'react'

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

/** Every page of the dashboard. */
export const pages: readonly PageEntry[] = [
  {
    path: '/account',
    title: 'Your account',
    section: 'Account',
    key: 'y',
    load: () => import('./account-page.tsx'),
  },
]
