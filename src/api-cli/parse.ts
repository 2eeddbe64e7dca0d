import type { ApiCommand } from './commands.ts'
import { Failure } from './failure.ts'
import { type Flag, readValue } from './flags.ts'

/** A command line taken apart. */
export interface Parsed {
  readonly ids: readonly string[]
  readonly query: Readonly<Record<string, string>>
  readonly body: Record<string, unknown> | undefined
}

/** Flags that every command takes. */
export interface Common {
  apiKey: string | undefined
  apiUrl: string | undefined
  help: boolean
}

/** Takes the common flags out of the words, wherever they stand. */
export function takeCommon(args: readonly string[]): { common: Common; rest: string[] } {
  const common: Common = { apiKey: undefined, apiUrl: undefined, help: false }
  const rest: string[] = []
  for (let at = 0; at < args.length; at++) {
    const [, flag, inline] = /^(--api-key|--api-url)(?:=(.*))?$/s.exec(args[at]!) ?? []
    if (args[at] === '--help' || args[at] === '-h') common.help = true
    else if (flag === undefined) rest.push(args[at]!)
    else {
      const value = inline ?? args[++at]
      if (value === undefined || value === '') throw new Failure(`${flag} needs a value.`)
      common[flag === '--api-key' ? 'apiKey' : 'apiUrl'] = value
    }
  }
  return { common, rest }
}

/** Reads what follows the words of a command: its ids, and flags as `--flag value`, `--flag=value`, `--switch`, `--no-switch`. */
export function parse(command: ApiCommand, args: readonly string[]): Parsed {
  const flags = new Map(command.flags.map((flag) => [flag.name, flag]))
  const ids: string[] = []
  const given = new Map<Flag, string[]>()
  let whole: string | undefined
  for (let at = 0; at < args.length; at++) {
    const [, name, inline] = /^--([^=]+)(?:=(.*))?$/s.exec(args[at]!) ?? []
    if (name === undefined) {
      ids.push(args[at]!)
      continue
    }
    const off = name.startsWith('no-') ? flags.get(name.slice(3)) : undefined
    const flag = flags.get(name) ?? off
    if (flag === undefined && name !== 'json') throw unknown(command, name)
    const isSwitch = flag?.kind === 'switch'
    const next = args[at + 1]
    if (off !== undefined && flag === off && isSwitch) given.set(flag, ['false'])
    else if (isSwitch && inline === undefined && next !== 'true' && next !== 'false')
      given.set(flag, ['true'])
    else {
      const value = inline ?? args[++at]
      if (value === undefined) throw new Failure(`--${name} needs a value.`)
      if (flag === undefined) whole = value
      else given.set(flag, [...(given.get(flag) ?? []), value])
    }
  }
  requireIds(command, ids)
  return { ids, ...collect(command, given, whole) }
}

function unknown({ flags, words }: ApiCommand, name: string): Failure {
  const near = flags.find((flag) => flag.name.startsWith(name) || flag.name.endsWith(name))
  return new Failure(
    `"adit api ${words.join(' ')}" has no flag --${name}.${near === undefined ? '' : ` Did you mean --${near.name}?`} Add --help to see all.`,
  )
}

function requireIds({ ids: wanted, words }: ApiCommand, ids: readonly string[]): void {
  const usage = ['adit api', ...words, ...wanted.map((name) => name.toUpperCase())].join(' ')
  if (ids.length < wanted.length) throw new Failure(`${wanted[ids.length]!} is missing. Write: ${usage}`)
  if (ids.length > wanted.length)
    throw new Failure(`"${ids[wanted.length]}" is one word too many. Write: ${usage}`)
}

function collect(
  command: ApiCommand,
  given: ReadonlyMap<Flag, string[]>,
  whole: string | undefined,
): Pick<Parsed, 'query' | 'body'> {
  const query: Record<string, string> = {}
  const body = whole === undefined ? {} : bodyOf(whole)
  // Whole objects first, so that a single field given beside one is put into it.
  const ordered = [...given].sort(([one], [other]) => one.path.length - other.path.length)
  for (const [flag, words] of ordered) {
    if (flag.query) query[flag.path[0]!] = words.at(-1)!
    else put(body, flag.path, readValue(flag, words))
  }
  return { query, body: command.route.body === undefined ? undefined : body }
}

function bodyOf(text: string): Record<string, unknown> {
  const flag: Flag = { name: 'json', kind: 'json', path: [], query: false, required: false, words: [] }
  const value = readValue(flag, [text])
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Failure('--json has to be a JSON object.')
  return value as Record<string, unknown>
}

function put(body: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let holder = body
  for (const step of path.slice(0, -1)) {
    if (typeof holder[step] !== 'object' || holder[step] === null) holder[step] = {}
    holder = holder[step] as Record<string, unknown>
  }
  holder[path.at(-1)!] = value
}
