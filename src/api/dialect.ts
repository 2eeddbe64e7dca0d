import type { Problem } from './problems.ts'

/**
 * The names and habits of the original service, for its official clients. A request that carries `Ngrok-Version` is
 * read and answered in them; this file is the only one that knows the differences.
 */

type Body = Record<string, unknown>

// Renamed members of an event destination's target; elsewhere these words are data of the caller's own.
const RENAMED: readonly (readonly [ours: string, theirs: string])[] = [
  ['monitoring', 'datadog'],
  ['cloud_access_key_id', 'aws_access_key_id'],
  ['cloud_secret_access_key', 'aws_secret_access_key'],
]
const toOurs = new Map(RENAMED.map(([ours, theirs]) => [theirs, ours]))
const toTheirs = new Map(RENAMED.map(([ours, theirs]) => [ours, theirs]))

// Ids that some clients repeat in the body although the path names them.
const PATH_IDS = ['id', 'edge_id', 'subscription_id']

const SOURCE = /\/sources\/[^/]+$/
const COMMAND = /^\/tunnel_sessions\/[^/]+\/(restart|stop|update)$/
// Fields whose empty default some clients send on every update without meaning it.
const EMPTY_MEANS_UNCHANGED = new Set([
  'backends',
  'labels',
  'ip_policy_ids',
  'match',
  'match_type',
  'headers',
])

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function rename(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [names.get(key) ?? key, rename(inner, names)]),
  )
}

function isEmpty(value: unknown): boolean {
  if (value === '' || value === 0) return true
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** True when an official client of the original is calling. */
export function isOriginal(headers: Record<string, unknown>): boolean {
  return headers['ngrok-version'] !== undefined
}

/** True for the three agent commands, to which clients send no body, `{}` or even plain text. */
export function isCommand(path: string): boolean {
  return COMMAND.test(path)
}

/** A request body in our names. */
export function readBody(method: string, path: string, body: unknown): unknown {
  if (!isObject(body)) return body
  const given = method === 'PUT' && isObject(body.module) ? body.module : body
  const inPath = method === 'PATCH' && SOURCE.test(path) ? [...PATH_IDS, 'type'] : PATH_IDS
  const kept = Object.entries(given).filter(([key, value]) => {
    if (inPath.includes(key)) return false
    if (!isEmpty(value)) return true
    // Creation: empty means not given. Update: empty clears, except where clients send it unasked.
    return method === 'PATCH' && !EMPTY_MEANS_UNCHANGED.has(key)
  })
  return Object.fromEntries(
    kept.map(([key, value]) => [key, key === 'target' ? rename(value, toOurs) : value]),
  )
}

/** An answer in the original's names: one object, or a list of them. */
export function writeBody(body: unknown): unknown {
  if (!isObject(body)) return body
  return Object.fromEntries(
    Object.entries(writeObject(body)).map(([key, value]) => [
      key,
      Array.isArray(value) ? value.map((item) => (isObject(item) ? writeObject(item) : item)) : value,
    ]),
  )
}

function writeObject(given: Body): Body {
  const shown = { ...given }
  // Edges and routes had this field under three names over time; every client finds the one it knows.
  if ('policies' in shown) Object.assign(shown, { policy: null, traffic_policy: null })
  if (Array.isArray(shown.routes)) shown.routes = shown.routes.map(writeObject)
  if ('target' in shown) shown.target = rename(shown.target, toTheirs)
  if (typeof shown.transport === 'string') shown.transport = shown.transport.replace('adit/', 'ngrok/')
  return shown
}

const AUTHTOKEN_AS_KEY = 206

/** Statuses the original answers with where the documents' dialect has a finer one. */
export function originalStatus({ status, code }: Problem): number {
  if (code === AUTHTOKEN_AS_KEY) return 400
  if (status === 401) return 403
  if (status === 405) return 404
  if (status === 409) return 400
  return status
}

/** Some clients cannot read an empty answer and get an empty object instead. */
export function needsObjectForEmpty(userAgent: string | undefined): boolean {
  return userAgent !== undefined && /^ngrok-api-(typescript|python)\//.test(userAgent)
}
