import { inspect } from 'node:util'

/** Secrets that libraries put into messages: passwords in URLs, `Authorization` values, and words as long as our tokens. */
const SECRETS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/:\/\/([^\s/:@]*):[^\s/@]+@/g, '://$1:[hidden]@'],
  [/\b(Bearer|Basic) [\w.~+/=-]+/g, '$1 [hidden]'],
]
/** The length of our tokens. */
const TOKEN_LENGTH = 71

/** Replaces what looks like a secret. */
export function hideSecrets(text: string): string {
  const visible = SECRETS.reduce(
    (result, [pattern, replacement]) => result.replace(pattern, replacement),
    text,
  )
  return visible.replace(/\w+/g, (word) => (word.length < TOKEN_LENGTH ? word : '[hidden]'))
}

/** The properties of errors that name a cause. Others may hold requests, rows or settings, with their secrets. */
const PROPERTIES = ['code', 'errno', 'syscall', 'address', 'port', 'hostname', 'path', 'status', 'statusCode']
const MAX_CAUSES = 5

/** The fields of an error for the log: its type, message, stack and properties, and the same of its causes. */
export function serializeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return hideSecrets(typeof error === 'string' ? error : inspect(error))
  const properties = PROPERTIES.map((name) => [name, Reflect.get(error, name) as unknown])
  const nested = (cause: unknown) => (depth < MAX_CAUSES ? serializeError(cause, depth + 1) : undefined)
  return {
    type: error.constructor.name,
    message: hideSecrets(error.message),
    stack: hideSecrets(error.stack ?? ''),
    ...Object.fromEntries(properties.filter(([, value]) => ['string', 'number'].includes(typeof value))),
    ...(error.cause !== undefined && { cause: nested(error.cause) }),
    ...(error instanceof AggregateError && { errors: error.errors.slice(0, MAX_CAUSES).map(nested) }),
  }
}

/** The stack of an error and the messages of its causes, for the terminal. */
export function formatError(error: unknown): string {
  if (!(error instanceof Error)) return hideSecrets(String(error))
  const lines = [error.stack ?? error.message]
  for (let { cause } = error; cause instanceof Error && lines.length <= MAX_CAUSES; { cause } = cause)
    lines.push(`caused by ${cause.name}: ${cause.message}`)
  return hideSecrets(lines.join('\n'))
}
