import { useEffect, useState } from 'react'
import { readList } from '../lists.ts'
import type { Item } from '../page-contracts.ts'
import { KIND_BY_PREFIX } from '../pages/backends/kinds.ts'
import { allows, listKeyOf, resourcePages } from '../resources.ts'

/** Where resources with an id prefix are listed and created. */
interface ReferenceSource {
  readonly path: string
  readonly key: string
  readonly singular: string
  /** The page of its list; that of an item is below it. */
  readonly route?: string
  readonly creatable?: boolean
}

/** Resources without generated pages. */
const OTHER_SOURCES: Readonly<Record<string, ReferenceSource>> = {
  ec: {
    path: '/endpoint_configurations',
    key: 'endpoint_configurations',
    singular: 'endpoint configuration',
  },
  rd: {
    path: '/reserved_domains',
    key: 'reserved_domains',
    singular: 'domain',
    route: '/domains',
    creatable: true,
  },
  edghts: { path: '/edges/https', key: 'https_edges', singular: 'edge', route: '/edges', creatable: true },
  edgtls: { path: '/edges/tls', key: 'tls_edges', singular: 'edge', route: '/edges', creatable: true },
  edgtcp: { path: '/edges/tcp', key: 'tcp_edges', singular: 'edge', route: '/edges', creatable: true },
  ...Object.fromEntries(
    Object.entries(KIND_BY_PREFIX).map(([prefix, kind]) => [
      prefix,
      {
        path: `/backends/${kind}`,
        key: 'backends',
        singular: 'backend',
        route: '/backends',
        creatable: true,
      },
    ]),
  ),
}

function sourceOf(prefix: string): ReferenceSource | undefined {
  const pages = resourcePages.find((each) => each.prefix === prefix)
  if (!pages) return OTHER_SOURCES[prefix]
  return {
    path: pages.path,
    key: listKeyOf(pages),
    singular: pages.singular,
    route: pages.route,
    creatable: allows(pages, 'create'),
  }
}

// A longer list is not usable as a select; the id can be typed instead.
const MAX_OPTIONS = 500

/** A resource to choose from. */
export interface ReferenceOption {
  readonly id: string
  readonly name: string
  readonly label: string
}

/** The display name of a resource, or its id if it has none. */
export function displayName(item: Item): string {
  const candidates = [
    'email',
    'name',
    'username',
    'url',
    'domain',
    'addr',
    'subject_common_name',
    'description',
    'hostport',
    'cidr',
    'urls',
    'public_url',
    'provider_user_id',
  ].map((key) => [item[key]].flat()[0])
  const name = candidates.find((word) => typeof word === 'string' && word !== '')
  return typeof name === 'string' ? name : formatLabels(item.labels) || item.id
}

function formatLabels(labels: unknown): string {
  if (typeof labels !== 'object' || labels === null) return ''
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(', ')
}

async function readOptions({ path, key }: ReferenceSource): Promise<ReferenceOption[]> {
  const { items } = await readList(`${path}?limit=100`, key, { count: MAX_OPTIONS })
  return items.map((item) => {
    const name = displayName(item)
    return { id: item.id, name, label: name === item.id ? item.id : `${name} (${item.id})` }
  })
}

/** The names of all resources with an id prefix, by id; empty if the list is not readable. */
export async function namesByPrefix(prefix: string): Promise<ReadonlyMap<string, string>> {
  const source = sourceOf(prefix)
  const options = source ? await readOptions(source).catch(() => []) : []
  return new Map(options.filter(({ id, name }) => name !== id).map(({ id, name }) => [id, name]))
}

/** The options for ids with these prefixes. Lists that are not readable are empty. */
export function useReferenceOptions(prefixes: readonly string[]): {
  options: readonly ReferenceOption[] | undefined
  one: string
  create: string | undefined
} {
  const prefixKey = prefixes.join(' ')
  const [options, setOptions] = useState<readonly ReferenceOption[]>()
  useEffect(() => {
    let cancelled = false
    const lists = prefixKey.split(' ').flatMap((prefix) => sourceOf(prefix) ?? [])
    const read = async () => {
      if (document.visibilityState === 'hidden') return
      const results = await Promise.all(lists.map((source) => readOptions(source).catch(() => [])))
      if (!cancelled) setOptions(results.flat())
    }
    void read()
    // The user may have created the missing resource in another tab.
    document.addEventListener('visibilitychange', read)
    return () => {
      cancelled = true
      document.removeEventListener('visibilitychange', read)
    }
  }, [prefixKey])
  const first = sourceOf(prefixes[0]!)
  return {
    options,
    one: first?.singular ?? 'resource',
    create: first?.creatable ? `${first.route}/new` : undefined,
  }
}

/** The dashboard page of an id, if there is one. */
export function pagePathOf(id: string): string | undefined {
  const route = sourceOf(id.slice(0, id.indexOf('_')))?.route
  return route && `${route}/${id}`
}
