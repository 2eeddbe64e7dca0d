import { CommandFailure, findCommand, printFailure, takeFlags } from '../base/process/command-line.ts'
import { errorMessage } from '../base/text/error-message.ts'
import { type CommandFlag, type FlagValues, flagsOf, type Output, type ProgramCommand } from './command.ts'
import { commandHelp, HELP_FLAG, VERSION_FLAG } from './help.ts'
import * as mistakes from './mistakes.ts'

/** The commands of a program, and what it says of itself. */
export interface Program {
  /** The program itself comes first, a command without words. */
  readonly commands: readonly ProgramCommand[]
  /** The flags of every command. */
  readonly commonFlags: readonly CommandFlag[]
  readonly version: string
  /** What to write instead of a command that there is not. */
  readonly synonyms: Readonly<Record<string, string>>
  /** The text of `help WORD` where the word is no command. */
  topics(word: string): Promise<string | undefined>
}

const output: Output = {
  out: (text) => {
    process.stdout.write(text)
  },
  error: (text) => {
    process.stderr.write(text)
  },
}

/** Runs one command line and returns the exit code. Errors are printed on stderr. */
export async function runCommandLine(args: readonly string[], program: Program): Promise<number> {
  try {
    const result = await run(args, program)
    return typeof result === 'number' ? result : 0
  } catch (error) {
    printFailure(errorMessage(error), output.error)
    return error instanceof CommandFailure ? error.code : 1
  }
}

async function run(
  args: readonly string[],
  { commands, commonFlags, version, synonyms, topics }: Program,
): Promise<unknown> {
  const rootFlags = [VERSION_FLAG, ...commonFlags]
  const common = takeFlags(args, rootFlags, (flag) =>
    mistakes.missingValue(flag, findCommand(commands, args).matched),
  )
  const { command = commands[0]!, matched } = findCommand(commands, common.rest)
  const rest = common.rest.slice(matched.length)
  if (command.delegate) return command.delegate.run(rest, readValues(common.values))
  const [long] = args.flatMap((argument) => /^-([a-z][a-z0-9-]+)(=.*)?$/i.exec(argument)?.[1] ?? [])
  if (long !== undefined)
    throw new CommandFailure(`there is no flag -${long}; long flags take two hyphens.\nWrite: --${long}`)
  if (common.values.has(VERSION_FLAG)) return output.out(`${version}\n`)
  const help = async (of: ProgramCommand) => output.out(await commandHelp(commands, of, commonFlags))
  const asksForHelp = (words: readonly string[]) => takeFlags(words, [HELP_FLAG]).values.size > 0
  const flags = await flagsOf(command)
  const rejectFlag = (flag: string) =>
    new CommandFailure(mistakes.unknownFlag(flag, command, matched, rest, [...flags, ...rootFlags]))

  if (command.run === undefined) {
    const [word, ...topic] = rest
    if (word === 'help') {
      const text = matched.length === 0 ? await topics(topic[0] ?? '') : undefined
      return text === undefined ? help(findTopic(commands, [...matched, ...topic])) : output.out(text)
    }
    if (asksForHelp(rest)) return help(command)
    if (word === undefined) {
      await help(command)
      return 1
    }
    if (isFlag(word)) throw rejectFlag(word)
    const following = args.slice(args.indexOf(word) + 1)
    throw new CommandFailure(mistakes.unknownCommand(word, command, matched, following, commands, synonyms))
  }

  const own = takeFlags(rest, flags, (flag) => mistakes.missingValue(flag, matched))
  const values = readValues(new Map([...common.values, ...own.values]))
  const end = own.rest.indexOf('--')
  const words = end === -1 ? own.rest : own.rest.slice(0, end)
  if (asksForHelp(words)) return help(command)
  const unknown = words.find(isFlag)
  if (unknown !== undefined) throw rejectFlag(unknown)
  const operands = end === -1 ? words : [...words, ...own.rest.slice(end + 1)]
  const missing = command.operands[operands.length]
  if (missing?.required) throw new CommandFailure(mistakes.missingOperand(missing.name, command, matched))
  if (operands.length > command.operands.length && !command.operands.at(-1)?.repeated)
    throw new CommandFailure(mistakes.excessOperand(operands, command, matched))
  return command.run({ operands, values, ...output })
}

const isFlag = (argument: string) => argument.length > 1 && argument.startsWith('-')

function readValues(values: ReadonlyMap<CommandFlag, readonly string[]>): FlagValues {
  return Object.fromEntries(
    [...values].map(([{ name, kind, commaSeparated }, texts]) => {
      if (kind === 'list')
        return [name, commaSeparated ? texts.flatMap((text) => text.split(',')) : [...texts]]
      const isSwitch = kind === 'bool' || kind === 'switch'
      const wrong = texts.find((text) => isSwitch && text !== 'true' && text !== 'false')
      if (wrong !== undefined) throw new CommandFailure(`--${name} must be true or false, not "${wrong}"`)
      return [name, texts.at(-1)]
    }),
  )
}

/** The command that `help` is asked about. */
function findTopic(commands: readonly ProgramCommand[], topic: readonly string[]): ProgramCommand {
  const { command, matched } = findCommand(commands, topic)
  const word = topic[matched.length]
  if (word === undefined || isFlag(word)) return command!
  throw new CommandFailure(mistakes.unknownTopic(word, command!, commands))
}
