import type { ApiCommand } from './commands.ts'
import { ApiCliError } from './failure.ts'
import { type ApiFlag, parseValue } from './flags.ts'

/** A parsed command line. */
export interface ParsedCommand {
  readonly ids: readonly string[]
  readonly query: Readonly<Record<string, string>>
  readonly body: Record<string, unknown> | undefined
}

/** The flags of every command. */
export interface CommonFlags {
  apiKey: string | undefined
  apiUrl: string | undefined
  help: boolean
}

/** Extracts the common flags from the arguments, wherever they are. */
export function extractCommonFlags(args: readonly string[]): { common: CommonFlags; rest: string[] } {
  const common: CommonFlags = { apiKey: undefined, apiUrl: undefined, help: false }
  const rest: string[] = []
  for (let index = 0; index < args.length; index++) {
    const [, flag, inline] = /^(--api-key|--api-url)(?:=(.*))?$/s.exec(args[index]!) ?? []
    if (args[index] === '--help' || args[index] === '-h') common.help = true
    else if (flag === undefined) rest.push(args[index]!)
    else {
      const value = inline ?? args[++index]
      if (value === undefined || value === '') throw new ApiCliError(`${flag} needs a value.`)
      common[flag === '--api-key' ? 'apiKey' : 'apiUrl'] = value
    }
  }
  return { common, rest }
}

/** Parses the arguments of a command: ids, and flags as `--flag value`, `--flag=value`, `--switch`, `--no-switch`. */
export function parseCommand(command: ApiCommand, args: readonly string[]): ParsedCommand {
  const flags = new Map(command.flags.map((flag) => [flag.name, flag]))
  const ids: string[] = []
  const values = new Map<ApiFlag, string[]>()
  let json: string | undefined
  for (let index = 0; index < args.length; index++) {
    const [, name, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(args[index]!) ?? []
    if (name === undefined) {
      ids.push(args[index]!)
      continue
    }
    const negated = name.startsWith('no-') ? flags.get(name.slice(3)) : undefined
    const flag = flags.get(name) ?? negated
    if (flag === undefined && name !== 'json') throw unknownFlag(command, name)
    const isSwitch = flag?.kind === 'switch'
    const next = args[index + 1]
    if (negated !== undefined && flag === negated && isSwitch) values.set(flag, ['false'])
    else if (isSwitch && inline === undefined && next !== 'true' && next !== 'false')
      values.set(flag, ['true'])
    else {
      const value = inline ?? args[++index]
      if (value === undefined) throw new ApiCliError(`--${name} needs a value.`)
      if (flag === undefined) json = value
      else values.set(flag, [...(values.get(flag) ?? []), value])
    }
  }
  requireIds(command, ids)
  return { ids, ...collect(command, values, json) }
}

function unknownFlag({ flags, words }: ApiCommand, name: string): ApiCliError {
  const similar = flags.find((flag) => flag.name.startsWith(name) || flag.name.endsWith(name))
  return new ApiCliError(
    `"adit api ${words.join(' ')}" has no flag --${name}.${similar === undefined ? '' : ` Did you mean --${similar.name}?`} Add --help to see all.`,
  )
}

function requireIds({ ids: names, words }: ApiCommand, ids: readonly string[]): void {
  const usage = ['adit api', ...words, ...names.map((name) => name.toUpperCase())].join(' ')
  if (ids.length < names.length) throw new ApiCliError(`${names[ids.length]!} is missing. Write: ${usage}`)
  if (ids.length > names.length)
    throw new ApiCliError(`"${ids[names.length]}" is one word too many. Write: ${usage}`)
}

function collect(
  command: ApiCommand,
  values: ReadonlyMap<ApiFlag, string[]>,
  json: string | undefined,
): Pick<ParsedCommand, 'query' | 'body'> {
  const query: Record<string, string> = {}
  const body = json === undefined ? {} : parseBody(json)
  // Objects first, so that a single field overrides a member of one.
  const ordered = [...values].sort(([one], [other]) => one.path.length - other.path.length)
  for (const [flag, words] of ordered) {
    if (flag.query) query[flag.path[0]!] = words.at(-1)!
    else setField(body, flag.path, parseValue(flag, words))
  }
  return { query, body: command.route.body === undefined ? undefined : body }
}

function parseBody(text: string): Record<string, unknown> {
  const flag: ApiFlag = { name: 'json', kind: 'json', path: [], query: false, required: false, choices: [] }
  const value = parseValue(flag, [text])
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ApiCliError('--json must be a JSON object.')
  return value as Record<string, unknown>
}

function setField(body: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let target = body
  for (const step of path.slice(0, -1)) {
    if (typeof target[step] !== 'object' || target[step] === null) target[step] = {}
    target = target[step] as Record<string, unknown>
  }
  target[path.at(-1)!] = value
}
