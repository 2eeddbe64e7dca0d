import { useEffect, useState } from 'react'
import { api } from '../api.ts'
import { type Item, resourcePages } from '../resources.ts'

/** Where the resources with an id prefix are listed, what one is called, and where it is made. */
interface Listed {
  readonly path: string
  readonly key: string
  readonly one: string
  readonly create?: string
}

/** Those whose pages are made elsewhere. */
const OTHERS: Readonly<Record<string, Listed>> = {
  ec: { path: '/endpoint_configurations', key: 'endpoint_configurations', one: 'endpoint configuration' },
  rd: { path: '/reserved_domains', key: 'reserved_domains', one: 'domain', create: '/domains/new' },
  edghts: { path: '/edges/https', key: 'https_edges', one: 'edge', create: '/edges/new' },
  edgtls: { path: '/edges/tls', key: 'tls_edges', one: 'edge', create: '/edges/new' },
  edgtcp: { path: '/edges/tcp', key: 'tcp_edges', one: 'edge', create: '/edges/new' },
  bkdhr: { path: '/backends/http_response', key: 'backends', one: 'backend', create: '/backends/new' },
  bkdtg: { path: '/backends/tunnel_group', key: 'backends', one: 'backend', create: '/backends/new' },
  bkdwd: { path: '/backends/weighted', key: 'backends', one: 'backend', create: '/backends/new' },
  bkdfo: { path: '/backends/failover', key: 'backends', one: 'backend', create: '/backends/new' },
  bkdsc: { path: '/backends/static', key: 'backends', one: 'backend', create: '/backends/new' },
}

function listedBy(prefix: string): Listed | undefined {
  const pages = resourcePages.find((each) => each.prefix === prefix)
  if (!pages) return OTHERS[prefix]
  return { path: pages.path, key: pages.listKey, one: pages.one, create: `${pages.route}/new` }
}

// Whoever has more than this types the id; a longer list helps nobody to choose.
const MOST = 500

/** One resource that can be chosen. */
export interface Option {
  readonly id: string
  readonly name: string
  readonly label: string
}

/** The words by which people know a resource, or its id where there are none. */
export function nameOf(item: Item): string {
  const words = [
    'email',
    'name',
    'domain',
    'addr',
    'subject_common_name',
    'description',
    'hostport',
    'cidr',
  ].map((key) => item[key])
  const said = words.find((word) => typeof word === 'string' && word !== '')
  return typeof said === 'string' ? said : labelled(item.labels) || item.id
}

function labelled(labels: unknown): string {
  if (typeof labels !== 'object' || labels === null) return ''
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(', ')
}

async function listAll({ path, key }: Listed): Promise<Option[]> {
  const options: Option[] = []
  let next: string | null = `${path}?limit=100`
  while (next !== null && options.length < MOST) {
    const page: Record<string, unknown> = await api.get<Record<string, unknown>>(next)
    for (const item of page[key] as Item[]) {
      const name = nameOf(item)
      options.push({ id: item.id, name, label: name === item.id ? item.id : `${name} (${item.id})` })
    }
    next = nextPath(page.next_page_uri)
  }
  return options
}

/** The names of all resources with an id prefix, by id; of those that may not be read, none. */
export async function namesBy(prefix: string): Promise<ReadonlyMap<string, string>> {
  const listed = listedBy(prefix)
  const options = listed ? await listAll(listed).catch(() => []) : []
  return new Map(options.filter(({ id, name }) => name !== id).map(({ id, name }) => [id, name]))
}

/** The path of the next page on this origin, whatever address the server knows itself by. */
export function nextPath(uri: unknown): string | null {
  if (typeof uri !== 'string') return null
  const { pathname, search } = new URL(uri, location.origin)
  return pathname + search
}

/** What can be chosen where ids of these prefixes fit. Lists that may not be read are simply empty. */
export function useOptions(prefixes: readonly string[]): {
  options: readonly Option[] | undefined
  one: string
  create: string | undefined
} {
  const wanted = prefixes.join(' ')
  const [options, setOptions] = useState<readonly Option[]>()
  useEffect(() => {
    let gone = false
    const lists = wanted.split(' ').flatMap((prefix) => listedBy(prefix) ?? [])
    const read = async () => {
      if (document.visibilityState === 'hidden') return
      const found = await Promise.all(lists.map((listed) => listAll(listed).catch(() => [])))
      if (!gone) setOptions(found.flat())
    }
    void read()
    // Whoever comes back from another tab may have made there what was missing.
    document.addEventListener('visibilitychange', read)
    return () => {
      gone = true
      document.removeEventListener('visibilitychange', read)
    }
  }, [wanted])
  const first = listedBy(prefixes[0]!)
  return { options, one: first?.one ?? 'resource', create: first?.create }
}

/** The page of the dashboard that shows what an id names, if there is one. */
export function pageOfId(id: string): string | undefined {
  const create = listedBy(id.slice(0, id.indexOf('_')))?.create
  return create && `${create.slice(0, -'/new'.length)}/${id}`
}
