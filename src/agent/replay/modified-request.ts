import { parseHead, parseHeaderFields } from '../http1.ts'
import type { MessageCopy } from '../inspector/message-copy.ts'

/** Changes to a replayed request; omitted parts stay as captured. */
export interface RequestChanges {
  method?: string
  path?: string
  /** A list of all fields in order, or a map of fields to set; null removes a field. */
  headers?: HeaderChanges
  body?: Buffer
}

/** A list replaces all fields; a map changes only the fields it names. */
export type HeaderChanges =
  | readonly (readonly [name: string, value: string])[]
  | Readonly<Record<string, string | readonly string[] | null>>

/** The changes do not form a valid HTTP request. */
export class ChangeError extends Error {
  override name = 'ChangeError'
}

const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/
const MAX_METHOD_LENGTH = 32
/** The limit of the tap: a longer head would be sent but not captured. */
const MAX_HEAD_BYTES = 65_536
/** Framing follows from the body; changes cannot set these. */
const FRAMING_HEADERS = new Set(['content-length', 'transfer-encoding', 'trailer'])
const BODYLESS_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE', 'TRACE'])

/** Why a captured request cannot be replayed with these changes, or undefined if it can. */
export function replayProblem(message: MessageCopy, changes: RequestChanges = {}): string | undefined {
  if (message.truncated && changes.body === undefined) return 'only the beginning of the request was captured'
  if (message.arriving && changes.body === undefined) return 'the request is not complete yet'
  if (!message.exact && !Array.isArray(changes.headers))
    return 'headers of the request were redacted when it was captured'
  return undefined
}

/** The bytes of a captured request with changes applied; the framing always matches the body. */
export function applyChanges(message: MessageCopy, changes: RequestChanges): Buffer {
  const [oldMethod = '', oldPath = '', version = ''] = parseHead(message.head).line.split(' ')
  const method = changes.method ?? oldMethod
  const path = changes.path ?? oldPath
  if (!TOKEN.test(method) || method.length > MAX_METHOD_LENGTH || method === 'CONNECT')
    throw new ChangeError('changes.method must be a method such as GET or POST')
  // A request target is visible ASCII; anything else would allow request smuggling.
  if (changes.path !== undefined && !/^(\/[!-~]*|\*)$/.test(path))
    throw new ChangeError('changes.path must begin with a slash and be percent-encoded')

  const originalFields = parseHeaderFields(message.head)
  const fields = applyHeaderChanges(originalFields, changes.headers).filter(
    ([name]) => !FRAMING_HEADERS.has(name.toLowerCase()),
  )
  for (const [name, value] of fields) checkField(name, value)
  if (changes.body === undefined)
    fields.push(...originalFields.filter(([name]) => FRAMING_HEADERS.has(name.toLowerCase())))
  else if (changes.body.length > 0 || !BODYLESS_METHODS.has(method))
    fields.push(['Content-Length', String(changes.body.length)])

  const lines = [`${method} ${path} ${version}`, ...fields.map(([name, value]) => `${name}: ${value}`)]
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  if (head.length > MAX_HEAD_BYTES)
    throw new ChangeError(`the headers are longer than ${MAX_HEAD_BYTES} bytes`)
  return Buffer.concat([head, changes.body ?? message.body()])
}

function applyHeaderChanges(
  originalFields: readonly [string, string][],
  changes: HeaderChanges | undefined,
): [string, string][] {
  if (changes === undefined) return [...originalFields]
  if (isList(changes)) return changes.map(([name, value]) => [name, value])
  const changesByName = new Map(
    Object.entries(changes).map(([name, value]) => [name.toLowerCase(), { name, value }]),
  )
  const fields: [string, string][] = []
  const applied = new Set<string>()
  const append = (lowerName: string) => {
    const { name, value } = changesByName.get(lowerName)!
    if (applied.has(lowerName) || value === null) return
    applied.add(lowerName)
    for (const item of typeof value === 'string' ? [value] : value) fields.push([name, item])
  }
  for (const [name, value] of originalFields) {
    if (changesByName.has(name.toLowerCase())) append(name.toLowerCase())
    else fields.push([name, value])
  }
  for (const lowerName of changesByName.keys()) append(lowerName)
  return fields
}

const isList = (changes: HeaderChanges): changes is readonly (readonly [string, string])[] =>
  Array.isArray(changes)

function checkField(name: string, value: string): void {
  if (!TOKEN.test(name)) throw new ChangeError(`"${name.slice(0, 100)}" is not a valid header name`)
  if (!/^[\t -~\x80-\xff]*$/.test(value))
    throw new ChangeError(
      `the value of ${name} contains a line break or a character that is not allowed in HTTP`,
    )
}
