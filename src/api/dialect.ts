/**
 * The names and habits of the original service, for its official clients. A request that carries `Ngrok-Version` is
 * read and answered in them; this file is the only one that knows the differences.
 */

type Body = Record<string, unknown>

const RENAMED: readonly (readonly [ours: string, theirs: string])[] = [
  ['monitoring', 'datadog'],
  ['cloud_access_key_id', 'aws_access_key_id'],
  ['cloud_secret_access_key', 'aws_secret_access_key'],
]
const toOurs = new Map(RENAMED.map(([ours, theirs]) => [theirs, ours]))
const toTheirs = new Map(RENAMED.map(([ours, theirs]) => [ours, theirs]))

// Ids that some clients repeat in the body although the path names them.
const PATH_IDS = ['id', 'edge_id', 'subscription_id']

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

function rename(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => rename(item, names))
  if (typeof value !== 'object' || value === null) return value
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
  if (isCommand(path)) return undefined
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  let given = rename(body, toOurs) as Body
  if (method === 'PUT' && typeof given.module === 'object' && given.module !== null)
    given = given.module as Body
  const patch = method === 'PATCH'
  return Object.fromEntries(
    Object.entries(given).filter(([key, value]) => {
      if (PATH_IDS.includes(key)) return false
      if (!isEmpty(value)) return true
      // Creation: empty means not given. Update: empty clears, except where clients send it unasked.
      return patch && !EMPTY_MEANS_UNCHANGED.has(key)
    }),
  )
}

/** An answer in the original's names. */
export function writeBody(body: unknown): unknown {
  return withPolicies(rename(body, toTheirs))
}

/** Edges and routes had this field under three names over time; every client finds the one it knows. */
function withPolicies(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withPolicies)
  if (typeof value !== 'object' || value === null) return value
  const shown: Body = Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, withPolicies(inner)]),
  )
  if ('policies' in shown) Object.assign(shown, { policy: null, traffic_policy: null })
  if (typeof shown.transport === 'string') shown.transport = shown.transport.replace('adit/', 'ngrok/')
  return shown
}

/** Statuses the original answers with where the documents' dialect has a finer one. */
export function originalStatus(status: number): number {
  if (status === 401) return 403
  if (status === 405) return 404
  if (status === 409) return 400
  return status
}

/** Some clients cannot read an empty answer and get an empty object instead. */
export function needsObjectForEmpty(userAgent: string | undefined): boolean {
  return userAgent !== undefined && /^ngrok-api-(typescript|python)\//.test(userAgent)
}
