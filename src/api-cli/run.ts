import { CommandFailure, findCommand, printFailure } from '../base/process/command-line.ts'
import { findNearest } from '../base/values/nearest.ts'
import { type ApiAccess, findApiAccess } from './access.ts'
import { sendCall } from './call.ts'
import { type ApiCommand, commandsOf } from './commands.ts'
import { allHelp, commandHelp, groupHelp } from './help.ts'
import { extractCommonFlags, type ParsedCommand, parseCommand } from './parse.ts'
import { formatList } from './table.ts'

/** The environment and output of a command. */
export interface Terminal {
  readonly environment: NodeJS.ProcessEnv
  /** The width of the terminal that shows the output; undefined when it goes elsewhere. */
  readonly columns?: number | undefined
  out(text: string): void
  error(text: string): void
}

const processTerminal: Terminal = {
  environment: process.env,
  columns: process.stdout.isTTY ? process.stdout.columns : undefined,
  out: (text) => {
    process.stdout.write(text)
  },
  error: (text) => {
    process.stderr.write(text)
  },
}

/**
 * `adit api …`: one call of the management API. JSON goes to stdout, a list as a table if that is a terminal; messages
 * go to stderr.
 */
export async function runApi(args: readonly string[], terminal: Terminal = processTerminal): Promise<number> {
  try {
    const { common, rest } = extractCommonFlags(args)
    // Not through the API's index.ts, which would load the whole server.
    const { routes } = await import('../api/all-routes.ts')
    const commands = commandsOf(routes)
    const words = joinResource(commands, rest)
    if (words.length === 0) return print(terminal, allHelp(commands))
    const { command, group, matched } = findApiCommand(commands, words)
    if (command === undefined) {
      const help = groupHelp(group, matched)
      if (common.help) return print(terminal, help)
      terminal.error(help)
      return 1
    }
    if (common.help) return print(terminal, commandHelp(command))
    const parsed = parseCommand(command, words.slice(matched.length))
    return await call(command, parsed, findApiAccess(common, terminal.environment), terminal)
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    return fail(terminal, error.message)
  }
}

/** `edges https list` means `edges-https list`: the name of a resource may be split into words. */
function joinResource(commands: readonly ApiCommand[], args: readonly string[]): readonly string[] {
  const resources = new Set(commands.map(({ words }) => words[0]))
  for (let count = args.length; count > 1; count--) {
    const resource = args.slice(0, count).join('-')
    if (resources.has(resource)) return [resource, ...args.slice(count)]
  }
  return args
}

/** Finds the command that the words before the first flag name, or all commands that begin with them. */
function findApiCommand(commands: readonly ApiCommand[], args: readonly string[]) {
  const firstFlag = args.findIndex((word) => word.startsWith('-'))
  const words = firstFlag === -1 ? args : args.slice(0, firstFlag)
  const match = findCommand(commands, words)
  const { command, group, matched } = match
  const isUnknown = matched.length === 0 || (command === undefined && matched.length < words.length)
  if (isUnknown) throw unknownWord(group, matched, args)
  return match
}

/** Verbs of other tools. */
const VERBS: Readonly<Record<string, string>> = {
  ls: 'list',
  show: 'get',
  describe: 'get',
  add: 'create',
  new: 'create',
  set: 'update',
  edit: 'update',
  rm: 'delete',
  remove: 'delete',
}

function unknownWord(
  group: readonly ApiCommand[],
  words: readonly string[],
  args: readonly string[],
): CommandFailure {
  const word = args[words.length]!
  const choices = [
    ...new Set(group.map((command) => command.words[words.length]).filter((each) => each !== undefined)),
  ]
  const prefix = ['adit api', ...words].join(' ')
  const nearest = findNearest(VERBS[word] ?? word.replaceAll('_', '-'), choices)
  const next =
    nearest !== undefined
      ? `Did you mean: ${[prefix, nearest, ...args.slice(words.length + 1)].join(' ')}`
      : words.length === 0
        ? 'adit api --help lists all resources.'
        : `Available: ${choices.join(', ')}.`
  return new CommandFailure(`"${prefix}" has no command "${word}". ${next}`)
}

async function call(
  { route, ids: names }: ApiCommand,
  parsed: ParsedCommand,
  access: ApiAccess,
  terminal: Terminal,
): Promise<number> {
  const path = names.reduce(
    (text, name, index) => text.replace(`{${name}}`, encodeURIComponent(parsed.ids[index]!)),
    route.path,
  )
  const query = new URLSearchParams(parsed.query).toString()
  const value = await sendCall(
    { method: route.method, path: `${path}${query === '' ? '' : `?${query}`}`, body: parsed.body },
    access,
  )
  return value === undefined ? 0 : print(terminal, formatResponse(value, parsed.json, terminal))
}

function formatResponse(value: unknown, json: boolean, { columns, environment }: Terminal): string {
  if (!json && columns !== undefined) {
    const colours = !environment.NO_COLOR && environment.TERM !== 'dumb'
    const table = formatList(value, { columns, colours })
    if (table !== undefined) return table
  }
  return `${JSON.stringify(value, null, 2)}\n`
}

function print(terminal: Terminal, text: string): number {
  terminal.out(text)
  return 0
}

function fail(terminal: Terminal, message: string): number {
  printFailure(message, terminal.error)
  return 1
}
