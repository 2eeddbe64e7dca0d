import { type Body, type ClientDialect, type Failure, NATIVE } from './dialect.ts'
import { fromLegacyPolicy, modulePathOf, toLegacyPolicy } from './legacy-policy.ts'

// Renamed members of an event destination's target. Elsewhere these words are user data.
const RENAMED_FIELDS: readonly (readonly [ours: string, theirs: string])[] = [
  ['monitoring', 'datadog'],
  ['cloud_access_key_id', 'aws_access_key_id'],
  ['cloud_secret_access_key', 'aws_secret_access_key'],
]
const NATIVE_NAMES = new Map(RENAMED_FIELDS.map(([ours, theirs]) => [theirs, ours]))
const ORIGINAL_NAMES = new Map(RENAMED_FIELDS.map(([ours, theirs]) => [ours, theirs]))

// Ids that some clients repeat in the body although they are in the path.
const PATH_IDS = ['id', 'edge_id', 'subscription_id']

const SOURCE_PATH = /\/sources\/[^/]+$/
const COMMAND_PATH = /^\/tunnel_sessions\/[^/]+\/(restart|stop|update)$/
// Fields that some clients send with an empty default on every update.
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

/** Terraform sends an empty id for a reference that its configuration leaves out. */
function isReference(key: string): boolean {
  return key.endsWith('_id')
}

function isEmpty(value: unknown): boolean {
  if (value === '' || value === 0) return true
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** The native URL of a request: a module with an older name is the newer one, and one client pages by `beforeId`. */
function toNativeUrl(url: string): string {
  const [path, ...query] = url.split('?')
  const parameters = query.map((text) => text.replace(/(^|&)beforeId=/, '$1before_id='))
  return [modulePathOf(path!) ?? path, ...parameters].join('?')
}

/** Translates a request body to the native names. `path` is the one that was requested. */
function toNativeBody(method: string, path: string, body: unknown): unknown {
  const native = toNativeNames(method, path, body)
  if (!isObject(native)) return native
  if (modulePathOf(path) !== undefined) return fromLegacyPolicy(native)
  if (!('policy' in native) || !path.startsWith('/edges/')) return native
  const { policy, ...others } = native
  return isObject(policy) ? { traffic_policy: fromLegacyPolicy(policy), ...others } : others
}

function toNativeNames(method: string, path: string, body: unknown): unknown {
  if (!isObject(body)) return body
  const fields = method === 'PUT' && isObject(body.module) ? body.module : body
  const pathFields = method === 'PATCH' && SOURCE_PATH.test(path) ? [...PATH_IDS, 'type'] : PATH_IDS
  const entries = Object.entries(fields).filter(([key, value]) => {
    if (pathFields.includes(key)) return false
    if (!isEmpty(value)) return true
    // Creation: empty means unset. Update: empty clears the field, except where clients always send it.
    return method === 'PATCH' && !EMPTY_MEANS_UNCHANGED.has(key) && !isReference(key)
  })
  return Object.fromEntries(
    entries.map(([key, value]) => [key, key === 'target' ? rename(value, NATIVE_NAMES) : value]),
  )
}

/** Translates a response, one object or a list of them, to the original's names. `path` is the one that was requested. */
function toOriginalBody(path: string, body: unknown): unknown {
  if (!isObject(body)) return body
  if (modulePathOf(path) !== undefined) return toLegacyPolicy(body)
  return Object.fromEntries(
    Object.entries(toOriginalObject(body)).map(([key, value]) => [
      key,
      Array.isArray(value) ? value.map((item) => (isObject(item) ? toOriginalObject(item) : item)) : value,
    ]),
  )
}

function toOriginalObject(body: Body): Body {
  const translated = { ...body }
  // This field of edges and routes has had three names; each client finds the one it knows.
  if ('policies' in translated) {
    const { traffic_policy = null } = translated as { traffic_policy?: Body | null }
    Object.assign(translated, { policy: toLegacyPolicy(traffic_policy), traffic_policy })
  }
  if (Array.isArray(translated.routes)) translated.routes = translated.routes.map(toOriginalObject)
  if ('target' in translated) translated.target = rename(translated.target, ORIGINAL_NAMES)
  if (typeof translated.transport === 'string')
    translated.transport = translated.transport.replace('adit/', 'ngrok/')
  return translated
}

const AUTHTOKEN_AS_KEY = 206

/** The status of the original service, which is coarser than the native one. */
function originalStatus({ status, code }: Failure): number {
  if (code === AUTHTOKEN_AS_KEY) return 400
  if (status === 401) return 403
  if (status === 405) return 404
  if (status === 409) return 400
  return status
}

/** The dialect of the original service. */
export const ORIGINAL: ClientDialect = {
  ...NATIVE,
  versionHeader: 'ngrok-version',
  operationIdHeader: 'ngrok-operation-id',
  errorPrefix: 'ERR_NGROK',
  // Official clients always send one.
  rejectsBodies: false,
  readUrl: toNativeUrl,
  // Agent commands come without a body, with `{}` or with plain text.
  ignoresBody: (path) => COMMAND_PATH.test(path),
  readBody: toNativeBody,
  statusOf: originalStatus,
  write: ({ status, body }, { path }) => ({ status, body: toOriginalBody(path, body) }),
}

/** The same, for clients that cannot parse an empty response: they get an empty object. */
export const ORIGINAL_WITHOUT_EMPTY_ANSWERS: ClientDialect = {
  ...ORIGINAL,
  write: (answer, request) =>
    answer.status === 204 ? { status: 200, body: {} } : ORIGINAL.write(answer, request),
}
