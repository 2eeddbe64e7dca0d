import type { Command, CommanderError, Option } from 'commander'
import { findNearest } from '../../base/values/nearest.ts'
import { EXAMPLES } from './examples.ts'

/** Names that other tools use, with the command line that does it here. */
const SYNONYMS: Readonly<Record<string, string>> = {
  login: 'config add-authtoken TOKEN',
  auth: 'config add-authtoken TOKEN',
  authtoken: 'config add-authtoken TOKEN',
  expose: 'http',
  share: 'http',
  forward: 'http',
  https: 'http',
  serve: 'server',
  up: 'server',
  list: 'api endpoints list',
  ls: 'api endpoints list',
  status: 'api endpoints list',
  upgrade: 'update',
}

/** Words a mistake on the command line: what is wrong, and the command line to write instead. */
export function describeUsageError(error: CommanderError, program: Command, argv: readonly string[]): string {
  const { command, path, rest } = findCommand(program, argv)
  const name = ['adit', ...path].join(' ')
  const quoted = /'([^']*)'/.exec(error.message)?.[1] ?? ''
  switch (error.code) {
    case 'commander.unknownCommand':
      return describeUnknownCommand(quoted, command, path, rest.slice(1))
    case 'commander.unknownOption':
      return describeUnknownFlag(quoted, command, name, rest)
    case 'commander.missingArgument':
      return `${name} needs ${quoted === 'address' ? 'the address of a local service' : `a ${quoted}`}.\nFor example: ${EXAMPLES[path.join(' ')]?.[0][0] ?? name}`
    case 'commander.optionMissingArgument': {
      const [flag = ''] = quoted.split(' ')
      return `${flag} needs a value: ${optionsOf(command).find(({ long }) => long === flag)?.description ?? ''}.\nAll flags: ${name} --help`
    }
    case 'commander.excessArguments': {
      const [first = '', extra = ''] = operandsOf(command, rest)
      if (command.registeredArguments.length === 0)
        return `${name} takes no argument, but got "${first}".\nAll flags: ${name} --help`
      return `${name} takes one argument, and "${extra}" is one too many.\nWrite: ${name} ${first}`
    }
    default:
      return error.message.replace(/^error: /, '')
  }
}

/** The command that the words name, the words, and the arguments after them. */
function findCommand(program: Command, argv: readonly string[]) {
  let command = program
  const path: string[] = []
  let index = 0
  for (; index < argv.length; index++) {
    const word = argv[index]!
    if (word.startsWith('-')) {
      // The value of a common flag that precedes the command.
      if (!word.includes('=') && optionsOf(command).some(({ long, required }) => long === word && required))
        index++
      continue
    }
    const next = command.commands.find((each) => each.name() === word || each.aliases().includes(word))
    if (next === undefined) break
    command = next
    path.push(word)
  }
  return { command, path, rest: argv.slice(index) }
}

function describeUnknownCommand(
  word: string,
  command: Command,
  path: readonly string[],
  rest: readonly string[],
): string {
  const problem = `there is no command "${['adit', ...path, word].join(' ')}".`
  if (path.length === 0 && /^(\S+:)?\d+$/.test(word))
    return `${problem}\nTo give the web service on ${word.includes(':') ? word : `port ${word}`} a public URL: adit http ${word}`
  const names = command.commands.map((each) => each.name())
  const suggestion = (path.length === 0 ? SYNONYMS[word] : undefined) ?? findNearest(word, names)
  if (suggestion === undefined) return `${problem}\nAll commands: ${['adit', 'help', ...path].join(' ')}`
  const example = suggestion.includes(' ') ? [suggestion] : [suggestion, ...rest]
  return `${problem}\nDid you mean: ${['adit', ...path, ...example].join(' ')}`
}

function describeUnknownFlag(flag: string, command: Command, name: string, rest: readonly string[]): string {
  const problem = `${name} has no flag ${flag}.`
  const value = rest[rest.indexOf(flag) + 1]
  const takesAddress = command.registeredArguments[0]?.name() === 'address'
  if (takesAddress && ['--port', '-p', '--addr', '--host'].includes(flag))
    return `${problem} The address is its argument.\nWrite: ${name} ${value === undefined || value.startsWith('-') ? '3000' : value}`
  const longNames = optionsOf(command).flatMap(({ long }) => long?.slice(2) ?? [])
  const nearest = flag.startsWith('--') ? findNearest(flag.slice(2), longNames) : undefined
  return `${problem}${nearest === undefined ? '' : ` Did you mean --${nearest}?`}\nAll flags: ${name} --help`
}

/** Options of the command and of its parents. */
function optionsOf(command: Command): readonly Option[] {
  return command.parent ? [...command.options, ...optionsOf(command.parent)] : command.options
}

/** The arguments that are neither flags nor their values. */
function operandsOf(command: Command, rest: readonly string[]): string[] {
  return command.parseOptions([...rest]).operands
}
