import { CommandFailure, type Flag } from '../base/process/command-line.ts'
import type { CompletionNode } from '../base/process/completion.ts'

/** A flag of a command. */
export interface CommandFlag extends Flag {
  readonly kind: 'text' | 'bool' | 'switch' | 'list'
  readonly help: string
  /** What the help calls the value. */
  readonly placeholder?: string
  /** Key of the tunnel definition, dotted when nested; absent for flags the command itself reads. */
  readonly key?: string
  /** True when one flag may carry several comma-separated values. */
  readonly commaSeparated?: boolean
  /** The replacement of a deprecated flag, which is hidden from the help and gives a warning. */
  readonly replacement?: string
}

/** Flag values by name. */
export type FlagValues = Readonly<Record<string, string | string[] | undefined>>

/** Where a command writes. */
export interface Output {
  out(text: string): void
  error(text: string): void
}

/** One use of a command. */
export interface Call extends Output {
  readonly operands: readonly string[]
  readonly values: FlagValues
}

/** A command, or a group of commands, which has no `run`. */
export interface CommandDeclaration {
  /** Its words, then its operands: `config add-update-url <url> <key>`, `completion [shell]`, `start [names...]`. */
  readonly usage: string
  /** Another last word. */
  readonly alias?: string
  readonly help: string
  readonly flags?: readonly CommandFlag[] | (() => Promise<readonly CommandFlag[]>)
  /** Command lines, and what they do. The first one also completes an error about missing operands. */
  readonly examples?: readonly (readonly [line: string, effect: string])[]
  /** Words that shells offer for its operand. */
  readonly choices?: readonly string[]
  readonly hidden?: true
  /** Loads what the command needs, and runs it. A number that it returns is the exit code. */
  run?(call: Call): unknown
  /** In place of `run`: a command with flags, help and completion of its own. */
  readonly delegate?: {
    run(args: readonly string[], values: FlagValues): Promise<number>
    completion(): Promise<readonly CompletionNode[]>
  }
}

export interface ProgramCommand extends CommandDeclaration {
  readonly words: readonly string[]
  readonly operands: readonly Operand[]
}

interface Operand {
  readonly name: string
  readonly required: boolean
  readonly repeated: boolean
  /** As the help writes it. */
  readonly text: string
}

/** Reads the usage of a command. */
export function defineCommand(declaration: CommandDeclaration): ProgramCommand {
  const parts = declaration.usage.split(' ').filter((part) => part !== '')
  const isOperand = (part: string) => /^[<[]/.test(part)
  const operands = parts.filter(isOperand).map((text) => ({
    name: text.replace(/[^a-z]/g, ''),
    required: text.startsWith('<'),
    repeated: text.includes('...'),
    text,
  }))
  return { ...declaration, words: parts.filter((part) => !isOperand(part)), operands }
}

/** The flags of a command, which may have to be loaded. */
export async function flagsOf({ flags = [] }: ProgramCommand): Promise<readonly CommandFlag[]> {
  return typeof flags === 'function' ? flags() : flags
}

/** The commands of a group that are shown to users. */
export function membersOf(
  commands: readonly ProgramCommand[],
  { words }: ProgramCommand,
): readonly ProgramCommand[] {
  return commands.filter(
    (each) =>
      !each.hidden &&
      each.words.length === words.length + 1 &&
      words.every((word, index) => each.words[index] === word),
  )
}

/** The values of a flag that may be repeated. */
export const listOf = (value: FlagValues[string]): readonly string[] => (Array.isArray(value) ? value : [])

/** The value of a flag that takes one. */
export const textOf = (value: FlagValues[string]) => (typeof value === 'string' ? value : undefined)

/** The flag of commands that can print JSON. */
export const OUTPUT_FLAG: CommandFlag = {
  name: 'output',
  kind: 'text',
  help: '"json" prints JSON instead of text',
}

/** Whether `--output json` is set, the only alternative to text. */
export function isJsonOutput({ output }: FlagValues): boolean {
  if (output !== undefined && output !== 'json')
    throw new CommandFailure(`--output must be json, not "${output}"`)
  return output === 'json'
}
