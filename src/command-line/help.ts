import { type CommandFlag, flagsOf, membersOf, type ProgramCommand } from './command.ts'

const INDENT = 2
const GAP = 2
const DEFAULT_WIDTH = 80
/** Narrower columns are not wrapped. */
const MIN_WRAPPED_WIDTH = 40

export const VERSION_FLAG: CommandFlag = {
  name: 'version',
  short: 'v',
  kind: 'switch',
  help: 'print the version',
}
export const HELP_FLAG: CommandFlag = {
  name: 'help',
  short: 'h',
  kind: 'switch',
  help: 'display help for command',
}

type Row = readonly [term: string, text: string]

/** The help of a command or group, as wide as the terminal. */
export async function commandHelp(
  commands: readonly ProgramCommand[],
  command: ProgramCommand,
  commonFlags: readonly CommandFlag[],
): Promise<string> {
  const isRoot = command.words.length === 0
  const members = membersOf(commands, command)
  const own = isRoot ? [VERSION_FLAG, ...commonFlags] : await flagsOf(command)
  const flags = [...own.filter(({ replacement }) => replacement === undefined), HELP_FLAG]
  const options = flags.map((flag): Row => [flagTerm(flag), flag.help])
  const rows = members.map((member): Row => [memberTerm(member), member.help])
  if (rows.length > 0) rows.push(['help [command]', 'display help for command'])
  const termWidth = Math.max(...[...options, ...rows].map(([term]) => term.length))
  const width = (process.stdout.isTTY && process.stdout.columns) || DEFAULT_WIDTH
  const section = (title: string, items: readonly Row[]) =>
    items.length === 0 ? '' : `\n${title}:\n${items.map((row) => formatRow(row, termWidth, width)).join('')}`
  const name = [...command.words.slice(0, -1), termName(command)].join(' ').trim()
  const usage = ['adit', ...(isRoot ? [] : [name]), '[options]', ...(rows.length > 0 ? ['[command]'] : [])]
  return `Usage: ${[...usage, ...command.operands.map(({ text }) => text)].join(' ')}

${wrap(command.help, width).join('\n')}
${section('Options', options)}${section('Commands', rows)}${examplesText(command)}`
}

const termName = ({ words, alias }: ProgramCommand) => [words.at(-1), alias].filter(Boolean).join('|')

function memberTerm(command: ProgramCommand): string {
  const hasFlags = command.flags !== undefined ? ['[options]'] : []
  return [termName(command), ...hasFlags, ...command.operands.map(({ text }) => text)].join(' ')
}

function flagTerm({ name, short, kind, placeholder = 'value' }: CommandFlag): string {
  const value = kind === 'switch' ? '' : kind === 'bool' ? ' [true|false]' : ` <${placeholder}>`
  return `${short === undefined ? '' : `-${short}, `}--${name}${value}`
}

function formatRow([term, text]: Row, termWidth: number, width: number): string {
  const column = INDENT + termWidth + GAP
  const lines = wrap(text, width - column)
  return `${' '.repeat(INDENT)}${term.padEnd(termWidth + GAP)}${lines.join(`\n${' '.repeat(column)}`)}\n`
}

function wrap(text: string, width: number): string[] {
  if (width < MIN_WRAPPED_WIDTH) return [text]
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

function examplesText({ examples = [] }: ProgramCommand): string {
  const width = Math.max(0, ...examples.map(([line]) => line.length))
  return examples.length === 0
    ? ''
    : `\nExamples:\n${examples.map(([line, effect]) => `  ${line.padEnd(width)}  # ${effect}\n`).join('')}\n`
}
