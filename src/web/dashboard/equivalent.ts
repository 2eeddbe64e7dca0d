/** The operations of the OpenAPI document. */
export interface Operations {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { operationId: string; tags: readonly string[] }>>>
  >
}

/** One call of the management API. */
export interface ApiCall {
  readonly method: string
  readonly path: string
  readonly body?: Readonly<Record<string, unknown>> | undefined
}

/** Quotes a shell argument where needed, and strips control characters. */
function quoteShellArgument(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text
  // Terminals interpret control characters even inside quotes. Newlines and tabs stay: PEM keys need them.
  const clean = text.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, '')
  return `'${clean.replaceAll("'", "'\\''")}'`
}

/** The call as a curl command; the API key comes from the environment. */
export function formatCurl({ method, path, body }: ApiCall, origin: string): string {
  const parts = [
    `curl -X ${method} ${quoteShellArgument(origin + path)}`,
    `-H "Authorization: Bearer $ADIT_API_KEY"`,
  ]
  if (body !== undefined)
    parts.push(`-H 'Content-Type: application/json'`, `-d ${quoteShellArgument(JSON.stringify(body))}`)
  return parts.join(' \\\n  ')
}

/** The call as an `adit api` command, if there is one. */
export function formatAditCommand(call: ApiCall, operations: Operations): string | undefined {
  const command = toAditCommand(call, operations)
  if (!command) return undefined
  const flags = command.flags.map(([name, value]) => `${name} ${quoteShellArgument(value)}`)
  const first = ['adit api', ...command.words.map(quoteShellArgument)].join(' ')
  // One flag per line, for readability.
  return flags.length > 1 ? [first, ...flags].join(' \\\n  ') : [first, ...flags].join(' ')
}

/** The arguments of `adit api`: resource, verb and ids, and a flag for each field of the body. */
function toAditCommand(
  { method, path, body = {} }: ApiCall,
  { paths }: Operations,
): { words: string[]; flags: [name: string, value: string][] } | undefined {
  const [pathname = '', query = ''] = path.split('?', 2)
  const steps = pathname.split('/')
  const queryFlags = [...new URLSearchParams(query)].map(([name, value]): [string, string] => [
    `--${kebab(name)}`,
    formatFlagValue(value),
  ])
  for (const [pattern, methods] of Object.entries(paths)) {
    const operation = methods[method.toLowerCase()]
    const ids = operation && idsOf(pattern.split('/'), steps)
    if (!operation || !ids) continue
    const tag = operation.tags[0]!
    const verbs = operation.operationId.slice(tag.length + 1).split('.')
    return { words: [...[tag, ...verbs].map(kebab), ...ids], flags: [...queryFlags, ...flagsOf(body)] }
  }
  return undefined
}

function idsOf(pattern: readonly string[], steps: readonly string[]): string[] | undefined {
  if (pattern.length !== steps.length) return undefined
  const ids: string[] = []
  for (const [index, step] of pattern.entries()) {
    if (step.startsWith('{')) ids.push(decodeURIComponent(steps[index]!))
    else if (step !== steps[index]) return undefined
  }
  return ids
}

const kebab = (name: string) => name.replaceAll('_', '-')

function flagsOf(body: Readonly<Record<string, unknown>>): [string, string][] {
  const entries = Object.entries(body).filter(([, value]) => value !== undefined)
  const nulls = entries.filter(([, value]) => value === null)
  const flags = entries
    .filter(([, value]) => value !== null)
    .map(([name, value]): [string, string] => [`--${kebab(name)}`, formatFlagValue(value)])
  // A flag cannot express null, which clears a field.
  if (nulls.length > 0) flags.push(['--json', JSON.stringify(Object.fromEntries(nulls))])
  return flags
}

function formatFlagValue(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  // The CLI reads a value that starts with @ from a file; @@ escapes it.
  return value.startsWith('@') ? `@${value}` : value
}
