import { type Command, Option } from 'commander'
import { CommandFailure } from '../../base/process/command-line.ts'
import type { CommandFlag, FlagValues } from '../commands/session-flags.ts'

/** Where a command writes. */
export interface Output {
  out(text: string): void
  error(text: string): void
}

/** The standard streams. */
export const output: Output = {
  out: (text: string) => {
    process.stdout.write(text)
  },
  error: (text: string) => {
    process.stderr.write(text)
  },
}

/** Adds flags to a command. */
export function addFlags(command: Command, flags: readonly CommandFlag[]): void {
  for (const { name, kind, help, replacement, commaSeparated } of flags) {
    const option = new Option(kind === 'bool' ? `--${name} [true|false]` : `--${name} <value>`, help)
    if (replacement !== undefined) option.hideHelp()
    if (kind === 'list') {
      option.argParser((value: string, previous: string[] | undefined) => [
        ...(previous ?? []),
        ...(commaSeparated ? value.split(',') : [value]),
      ])
    }
    if (kind === 'bool') {
      option.argParser((value: string) => {
        if (value === 'true' || value === 'false') return value
        throw new CommandFailure(`--${name} must be true or false, not "${value}"`)
      })
    }
    command.addOption(option)
  }
}

/** Flag values by flag name. */
export function valuesOf(command: Command): FlagValues {
  const values: Record<string, string | string[] | undefined> = {}
  for (let level: Command | null = command; level; level = level.parent) {
    const options = level.opts<Record<string, string | string[] | undefined>>()
    for (const option of level.options) {
      const value = options[option.attributeName()]
      if (option.long && value !== undefined) values[option.long.slice(2)] ??= value
    }
  }
  return values
}

/** The values of a flag that may be repeated. */
export const listOf = (value: FlagValues[string]): readonly string[] => (Array.isArray(value) ? value : [])

/** The value of a flag that takes one. */
export const textOf = (value: FlagValues[string]) => (typeof value === 'string' ? value : undefined)
