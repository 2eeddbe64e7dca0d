import { type ClientOptions, createSender, type SendRequest } from './call.ts'
import type { CallOptions, Page } from './call-options.ts'
import { OPERATIONS } from './operations.ts'
import type { Operations } from './types.ts'

/** A client of the management API. */
export interface Client extends Operations {
  /** Sends a request that is not one of the methods, and returns the JSON of the response; undefined if it has none. */
  readonly request: SendRequest
}

/** A group of methods, such as `reservedDomains`. */
interface Group {
  [name: string]: Group | ((...args: readonly unknown[]) => unknown)
}

type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** Creates a client of the management API. It opens no connection before the first call. */
export function createClient(options: ClientOptions = {}): Client {
  const request = createSender(options)
  const methods: Group = {}
  for (const [name, [method, path, listKey]] of Object.entries(OPERATIONS)) {
    const hasBody = method !== 'GET' && method !== 'DELETE'
    const hasInput = hasBody || listKey !== undefined
    const read = (args: readonly unknown[]) => readArguments(name, path, hasInput, args)
    define(methods, name, (...args) => {
      const { filledPath, input, options } = read(args)
      if (hasBody) return request({ method, path: filledPath, body: input ?? {} }, options)
      return request({ method, path: `${filledPath}${formatQuery(input as Query)}` }, options)
    })
    if (listKey !== undefined)
      define(methods, `${name}All`, (...args) => {
        const { filledPath, input, options } = read(args)
        return readPages(request, `${filledPath}${formatQuery(input as Query)}`, listKey, options)
      })
  }
  const client: object = { ...methods, request }
  return client as Client
}

/** Sets `reservedDomains.create` in the group of that name. */
function define(group: Group, name: string, method: (...args: readonly unknown[]) => unknown): void {
  const words = name.split('.')
  const last = words.pop()!
  const owner = words.reduce((outer, word) => {
    outer[word] ??= {}
    return outer[word] as Group
  }, group)
  owner[last] = method
}

/** The arguments of a method are the ids of its path, a body or query if it has one, and options. */
function readArguments(name: string, path: string, hasInput: boolean, args: readonly unknown[]) {
  let index = 0
  const filledPath = path.replace(/\{(\w+)\}/g, (_, parameter: string) => {
    const id = args[index++]
    // An empty id, or one that is a relative path, would make this another call.
    if (typeof id !== 'string' || /^\.{0,2}$/.test(id))
      throw new TypeError(`${name} needs ${parameter}, a text that is not empty.`)
    return encodeURIComponent(id)
  })
  const input = hasInput ? args[index++] : undefined
  return { filledPath, input, options: args[index] as CallOptions | undefined }
}

function formatQuery(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? []].flat().map((each) => [name, String(each)]),
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

async function* readPages(
  request: SendRequest,
  firstPath: string,
  listKey: string,
  options: CallOptions | undefined,
): AsyncGenerator<unknown, void> {
  const [path = ''] = firstPath.split('?')
  let next: string | undefined = firstPath
  while (next !== undefined) {
    const page = (await request({ method: 'GET', path: next }, options)) as Page<string, unknown>
    yield* page[listKey] as unknown[]
    // Only the query: the key is sent to no address that a response names.
    next = page.next_page_uri === null ? undefined : `${path}${new URL(page.next_page_uri).search}`
  }
}
