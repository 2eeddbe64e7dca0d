import { CommandFailure, takeFlags } from '../base/process/command-line.ts'
import { findNearest } from '../base/values/nearest.ts'
import type { ApiFlags } from './access.ts'
import type { ApiCommand } from './commands.ts'
import { type ApiFlag, formatPlaceholder, parseValue } from './flags.ts'

/** A parsed command line. */
export interface ParsedCommand {
  readonly ids: readonly string[]
  readonly query: Readonly<Record<string, string>>
  readonly body: Record<string, unknown> | undefined
  /** Whether a list is printed as JSON on a terminal too. */
  readonly json: boolean
}

/** The flags of every command. */
export interface CommonFlags extends ApiFlags {
  readonly help: boolean
}

const COMMON_FLAGS = [{ name: 'api-key' }, { name: 'api-url' }] as const

/** Extracts the common flags from the arguments, wherever they are. */
export function extractCommonFlags(args: readonly string[]): { common: CommonFlags; rest: string[] } {
  const { values, rest: withHelp } = takeFlags(args, COMMON_FLAGS)
  const [apiKey, apiUrl] = COMMON_FLAGS.map((flag) => {
    const value = values.get(flag)?.at(-1)
    if (value === '') throw new CommandFailure(`--${flag.name} needs a value.`)
    return value
  })
  const rest = withHelp.filter((argument) => argument !== '--help' && argument !== '-h')
  return { common: { apiKey, apiUrl, help: rest.length < withHelp.length }, rest }
}

const JSON_FLAG: ApiFlag = {
  name: 'json',
  kind: 'json',
  path: [],
  query: false,
  required: false,
  choices: [],
}

/** The same flag of a command without a body: it prints JSON. */
const JSON_SWITCH: ApiFlag = { ...JSON_FLAG, kind: 'switch' }

/** Parses the arguments of a command: its ids and its flags. */
export function parseCommand(command: ApiCommand, args: readonly string[]): ParsedCommand {
  const jsonFlag = command.route.body === undefined ? JSON_SWITCH : JSON_FLAG
  const { values, rest } = takeFlags(args, [jsonFlag, ...command.flags])
  const unknown = rest.find((argument) => argument.startsWith('--'))
  if (unknown !== undefined) throw unknownFlag(command, unknown.slice(2).split('=')[0]!)
  requireIds(command, rest)
  requireFlags(command, values)
  return { ids: rest, ...collect(command, values), json: values.has(JSON_SWITCH) }
}

/** A body in `--json` is left to the server: it may hold any field. */
function requireFlags({ flags, words, ids }: ApiCommand, values: ReadonlyMap<ApiFlag, unknown>): void {
  if (values.has(JSON_FLAG)) return
  const required = flags.filter((flag) => flag.required && flag.path.length === 1)
  const missing = required.find(
    (flag) => ![...values.keys()].some((present) => present.path[0] === flag.path[0]),
  )
  if (missing === undefined) return
  const usage = [
    'adit api',
    ...words,
    ...ids.map((id) => id.toUpperCase()),
    ...required.map((flag) => `--${flag.name} ${formatPlaceholder(flag)}`),
  ]
  throw new CommandFailure(`--${missing.name} is missing. Write: ${usage.join(' ')}`)
}

function unknownFlag({ flags, words }: ApiCommand, name: string): CommandFailure {
  const nearest = findNearest(
    name,
    flags.map((flag) => flag.name),
  )
  return new CommandFailure(
    `"adit api ${words.join(' ')}" has no flag --${name}.${nearest === undefined ? '' : ` Did you mean --${nearest}?`} Add --help to see all.`,
  )
}

function requireIds({ ids: names, words }: ApiCommand, ids: readonly string[]): void {
  const usage = ['adit api', ...words, ...names.map((name) => name.toUpperCase())].join(' ')
  if (ids.length < names.length) throw new CommandFailure(`${names[ids.length]!} is missing. Write: ${usage}`)
  if (ids.length > names.length)
    throw new CommandFailure(`"${ids[names.length]}" is one argument too many. Write: ${usage}`)
}

function collect(
  command: ApiCommand,
  values: ReadonlyMap<ApiFlag, readonly string[]>,
): Pick<ParsedCommand, 'query' | 'body'> {
  const query: Record<string, string> = {}
  const json = values.get(JSON_FLAG)
  const body = json === undefined ? {} : parseBody(json)
  // Objects first, so that a single field overrides a member of one.
  const ordered = [...values].sort(([one], [other]) => one.path.length - other.path.length)
  for (const [flag, words] of ordered) {
    if (flag === JSON_FLAG || flag === JSON_SWITCH) continue
    if (flag.query) query[flag.path[0]!] = words.at(-1)!
    else setField(body, flag.path, parseValue(flag, words))
  }
  return { query, body: command.route.body === undefined ? undefined : body }
}

function parseBody(texts: readonly string[]): Record<string, unknown> {
  const value = parseValue(JSON_FLAG, texts)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CommandFailure('--json must be a JSON object.')
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
