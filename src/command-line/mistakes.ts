// Mistakes on the command line: each says what is wrong, and the command line to write instead.
import { findNearest } from '../base/values/nearest.ts'
import { type CommandFlag, membersOf, type ProgramCommand } from './command.ts'

type Words = readonly string[]

const ADDRESS = 'address'

const nameOf = (path: Words) => ['adit', ...path].join(' ')

/** `word` follows the words of a group. */
export function unknownCommand(
  word: string,
  group: ProgramCommand,
  path: Words,
  rest: Words,
  commands: readonly ProgramCommand[],
  synonyms: Readonly<Record<string, string>>,
): string {
  const problem = `there is no command "${nameOf([...path, word])}".`
  if (path.length === 0 && /^(\S+:)?\d+$/.test(word))
    return `${problem}\nTo give the web service on ${word.includes(':') ? word : `port ${word}`} a public URL: adit http ${word}`
  const suggestion =
    (path.length === 0 ? synonyms[word] : undefined) ?? findNearest(word, namesIn(commands, group))
  if (suggestion === undefined) return `${problem}\nAll commands: ${nameOf(['help', ...path])}`
  const example = suggestion.includes(' ') ? [suggestion] : [suggestion, ...rest]
  return `${problem}\nDid you mean: ${nameOf([...path, ...example])}`
}

/** `help` is asked about a word that follows the words of a group. */
export function unknownTopic(
  word: string,
  group: ProgramCommand,
  commands: readonly ProgramCommand[],
): string {
  const nearest = findNearest(word, namesIn(commands, group))
  const suggestion = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  return `there is no command "${word}"${suggestion}\nAll commands: adit help`
}

const namesIn = (commands: readonly ProgramCommand[], group: ProgramCommand) =>
  membersOf(commands, group).map(({ words }) => words.at(-1)!)

export function unknownFlag(
  argument: string,
  { operands }: ProgramCommand,
  path: Words,
  rest: Words,
  flags: readonly CommandFlag[],
): string {
  const name = nameOf(path)
  const [flag = ''] = argument.split('=')
  const problem = `${name} has no flag ${flag}.`
  if (operands[0]?.name === ADDRESS && ['--port', '-p', '--addr', '--host'].includes(flag)) {
    const value = argument.slice(flag.length + 1) || rest[rest.indexOf(argument) + 1]
    return `${problem} The address is its argument.\nWrite: ${name} ${value === undefined || value.startsWith('-') ? '3000' : value}`
  }
  const names = flags.map((each) => each.name)
  const nearest = flag.startsWith('--') ? findNearest(flag.slice(2), names) : undefined
  return `${problem}${nearest === undefined ? '' : ` Did you mean --${nearest}?`}\nAll flags: ${name} --help`
}

export function missingValue({ name, help }: CommandFlag, path: Words): string {
  return `--${name} needs a value: ${help}.\nAll flags: ${nameOf(path)} --help`
}

export function missingOperand(operand: string, { examples }: ProgramCommand, path: Words): string {
  const needed = operand === ADDRESS ? 'the address of a local service' : `a ${operand}`
  return `${nameOf(path)} needs ${needed}.\nFor example: ${examples?.[0]?.[0] ?? nameOf(path)}`
}

export function excessOperand(
  given: Words,
  { operands: { length: count } }: ProgramCommand,
  path: Words,
): string {
  const name = nameOf(path)
  if (count === 0) return `${name} takes no argument, but got "${given[0]}".\nAll flags: ${name} --help`
  const limit = count === 1 ? 'one argument' : `${count} arguments`
  return `${name} takes ${limit}, and "${given[count]}" is one too many.\nWrite: ${[name, ...given.slice(0, count)].join(' ')}`
}
