import { withPrintedCodes } from './drop-in.ts'

/** A fatal error with a message for the user; `code` is the exit code. */
export class CommandFailure extends Error {
  override name = 'CommandFailure'
  readonly code: number

  constructor(message: string, code = 1) {
    super(message)
    this.code = code
  }
}

/** Prints a fatal error; wrappers look for the prefix on every line. */
export function printFailure(message: string, write: (text: string) => void): void {
  for (const line of withPrintedCodes(message).trimEnd().split('\n')) write(`ERROR:  ${line}\n`)
}

/** A flag, named without its hyphens. A `switch` or `bool` needs no value; only a `switch` is negated with `--no-`. */
export interface Flag {
  readonly name: string
  /** A letter that means the same, such as `f` for `-f`. */
  readonly short?: string
  readonly kind?: string
}

/**
 * Takes these flags out of the arguments: `--flag value`, `--flag=value`, `-f value`, `--switch`, `--no-switch`. All other
 * arguments stay in `rest`: unknown flags, and everything after `--`.
 */
export function takeFlags<F extends Flag>(
  args: readonly string[],
  flags: readonly F[],
  describeMissing: (flag: F) => string = ({ name }) => `--${name} needs a value.`,
): { values: ReadonlyMap<F, readonly string[]>; rest: string[] } {
  const byName = new Map(flags.map((flag) => [flag.name, flag]))
  const byShort = new Map(flags.map((flag) => [`-${flag.short}`, flag]))
  const values = new Map<F, string[]>()
  const rest: string[] = []
  const add = (flag: F, value: string) => values.set(flag, [...(values.get(flag) ?? []), value])
  for (let index = 0; index < args.length; index++) {
    const argument = args[index]!
    if (argument === '--') return { values, rest: [...rest, ...args.slice(index)] }
    const [, name = '', inline] = /^--([^=]+)(?:=(.*))?$/s.exec(argument) ?? []
    const flag = byName.get(name) ?? byShort.get(argument)
    const negated = name.startsWith('no-') ? byName.get(name.slice(3)) : undefined
    if (flag !== undefined) {
      const next = args[index + 1]
      const isSwitch = flag.kind === 'switch' || flag.kind === 'bool'
      const standsAlone = isSwitch && inline === undefined && next !== 'true' && next !== 'false'
      const value = standsAlone ? 'true' : (inline ?? args[++index])
      if (value === undefined) throw new CommandFailure(describeMissing(flag))
      add(flag, value)
    } else if (negated?.kind === 'switch') add(negated, 'false')
    else rest.push(argument)
  }
  return { values, rest }
}

/**
 * Finds the command that the leading words name; `alias` is another last word. `group` holds every command that begins with
 * the `matched` words.
 */
export function findCommand<C extends { readonly words: readonly string[]; readonly alias?: string }>(
  commands: readonly C[],
  words: readonly string[],
): { command: C | undefined; group: readonly C[]; matched: readonly string[] } {
  let group = commands
  let count = 0
  for (; count < words.length; count++) {
    const narrowed = group.filter(
      ({ words: own, alias }) =>
        own[count] === words[count] || (own.length === count + 1 && alias === words[count]),
    )
    if (narrowed.length === 0) break
    group = narrowed
  }
  return {
    command: group.find((command) => command.words.length === count),
    group,
    matched: words.slice(0, count),
  }
}
