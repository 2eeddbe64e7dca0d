import { Command, CommanderError } from 'commander'
import { CommandFailure, printFailure } from '../base/process/command-line.ts'
import { errorMessage } from '../base/text/error-message.ts'
import { findNearest } from '../base/values/nearest.ts'
import { passSavedApiKey } from './command-line/account.ts'
import type { ExternalCommands } from './command-line/external.ts'
import { addFlags, output, valuesOf } from './command-line/options.ts'
import { createProgramFor } from './command-line/program.ts'
import { ignoreBrokenPipe } from './commands/outputs.ts'
import { COMMON_FLAGS } from './commands/session-flags.ts'
import { describeUsageError } from './commands/usage-errors.ts'

/** Runs one command line and returns the exit code. Errors are printed on stderr. */
export async function runCli(argv: readonly string[], external: ExternalCommands): Promise<number> {
  const state = { code: 0 }
  ignoreBrokenPipe()
  try {
    const api = parseApiArguments(argv)
    if (api) return await external.api(await withApiKey(api))
    const [command, topic = ''] = argv
    if (command === 'help' && ERROR_TOPIC.test(topic)) output.out(await external.explainErrors(topic))
    else if (argv.length === 0) output.out(SHORT_HELP)
    else {
      const program = await createProgramFor(argv, state, external)
      const args = normalizeArguments(argv, booleanFlags(program))
      rejectUnknownTopic(program, args)
      try {
        await program.parseAsync(args, { from: 'user' })
      } catch (error) {
        if (error instanceof CommanderError) return reportUsage(error, program, args)
        throw error
      }
    }
    return state.code
  } catch (error) {
    printFailure(errorMessage(error), output.error)
    return error instanceof CommandFailure ? error.code : 1
  }
}

/** An error code, its number, or the list of all. */
const ERROR_TOPIC = /^(errors|(err_(adit|ngrok)_)?\d+)$/i

function reportUsage(error: CommanderError, program: Command, args: readonly string[]): number {
  if (error.exitCode === 0) return 0
  // A command group has already printed its help, which lists the missing subcommand.
  if (error.code !== 'commander.help') printFailure(describeUsageError(error, program, args), output.error)
  return 1
}

const SHORT_HELP = `adit - public URLs for local services, on your own server

Usage:
  adit http 3000             give the web service on port 3000 a public URL
  adit tcp 22                give a TCP service a public address
  adit start --all           start everything in the configuration file
  adit server                run a server

  adit help                  all commands
  adit help ERR_ADIT_334     explain an error code
  adit http --help           all flags of a command
`

/** The flags of all commands that stand alone or take `=true` and `=false`. */
function booleanFlags(command: Command): ReadonlySet<string> {
  const own = command.options.filter(({ optional }) => optional).map(({ long }) => long ?? '')
  return new Set([...own, ...command.commands.flatMap((each) => [...booleanFlags(each)])])
}

/** Splits `--flag=value` in two, gives boolean flags a value and rejects long flags with a single hyphen. */
function normalizeArguments(argv: readonly string[], booleans: ReadonlySet<string>): string[] {
  return argv.flatMap((argument, index) => {
    const single = /^-([a-z][a-z0-9-]+)(=.*)?$/i.exec(argument)
    if (single)
      throw new CommandFailure(
        `there is no flag -${single[1]}; long flags take two hyphens.\nWrite: --${single[1]}`,
      )
    if (!argument.startsWith('--')) return [argument]
    const equals = argument.indexOf('=')
    if (equals > 0) return [argument.slice(0, equals), argument.slice(equals + 1)]
    if (!booleans.has(argument) || /^(true|false)$/.test(argv[index + 1] ?? '')) return [argument]
    return [argument, 'true']
  })
}

/** Rejects an unknown topic of `help`, which commander would ignore. */
function rejectUnknownTopic(program: Command, words: readonly string[]): void {
  let level = program
  let help = false
  for (const word of words) {
    const match = level.commands.find((each) => each.name() === word || each.aliases().includes(word))
    if (match) level = match
    else if (help) {
      const nearestName = findNearest(
        word,
        level.commands.map((each) => each.name()),
      )
      const suggestion = nearestName === undefined ? '' : `; did you mean "${nearestName}"?`
      throw new CommandFailure(`there is no command "${word}"${suggestion}\nAll commands: adit help`)
    } else if (word === 'help') help = true
    else return
  }
}

/** The arguments after `api` when that is the command; common flags may precede it. */
function parseApiArguments(argv: readonly string[]): { leadingFlags: string[]; args: string[] } | undefined {
  const common = new Set(COMMON_FLAGS.map(({ name }) => `--${name}`))
  let index = 0
  while (index < argv.length && argv[index]!.startsWith('--')) {
    const [flag = ''] = argv[index]!.split('=')
    if (!common.has(flag)) return undefined
    index += argv[index]!.includes('=') ? 1 : 2
  }
  return argv[index] === 'api'
    ? { leadingFlags: argv.slice(0, index), args: argv.slice(index + 1) }
    : undefined
}

/** The arguments of the API client without common flags. */
async function withApiKey({
  leadingFlags,
  args,
}: {
  leadingFlags: string[]
  args: string[]
}): Promise<string[]> {
  const globals = new Command().exitOverride().allowUnknownOption().allowExcessArguments(true)
  addFlags(globals, COMMON_FLAGS)
  const { unknown, operands } = globals.parseOptions([...leadingFlags, ...args])
  await passSavedApiKey(valuesOf(globals))
  return [...operands, ...unknown]
}
