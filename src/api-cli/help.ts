import type { ApiCommand } from './commands.ts'
import { formatPlaceholder } from './flags.ts'

const COMMON_FLAGS = `Flags of every command
  --api-key KEY   API key (default: ADIT_API_KEY, the agent's configuration, or a server on this machine)
  --api-url URL   address of the API (default: ADIT_API_URL, or a server on this machine)
  --help          show help

@FILE reads a value from a file, @- from standard input.
`

function formatTable(rows: readonly (readonly [string, string])[]): string {
  const width = Math.min(Math.max(...rows.map(([left]) => left.length)), 48)
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd()).join('\n')
}

/** All resources with their verbs. */
export function allHelp(commands: readonly ApiCommand[]): string {
  const resources = Map.groupBy(commands, ({ words }) => words[0]!)
  const rows = [...resources].map(([resource, group]) => {
    const verbs = group.map(({ words }) => words.slice(1).join(' ')).filter((verb) => !verb.includes(' '))
    return [resource, verbs.join(', ')] as const
  })
  return `adit api: call the management API

Usage
  adit api RESOURCE VERB [ID] [--flags]

Responses are printed as JSON; on a terminal, lists are printed as tables unless --json is given. "edges https" means edges-https. "adit api RESOURCE --help" lists all verbs, "adit api RESOURCE VERB --help" all flags.

Examples
  adit api reserved-domains create --domain app.example.com
  adit api ip-policy-rules create --ip-policy-id ID --cidr 10.0.0.0/8 --action allow
  adit api edges-https list --json

Resources
${formatTable(rows)}

${COMMON_FLAGS}`
}

/** The commands that begin with these words. */
export function groupHelp(commands: readonly ApiCommand[], words: readonly string[]): string {
  const rows = commands.map(
    (command) =>
      [
        [...command.words.slice(words.length), ...command.ids.map((id) => id.toUpperCase())].join(' '),
        command.route.summary,
      ] as const,
  )
  return `adit api ${words.join(' ')}

Commands
${formatTable(rows)}

${COMMON_FLAGS}`
}

/** One command with its flags. */
export function commandHelp({ words, ids, flags, route }: ApiCommand): string {
  const rows = flags.map(
    (flag) => [`--${flag.name} ${formatPlaceholder(flag)}`, flag.required ? 'required' : ''] as const,
  )
  const body =
    route.body === undefined
      ? '  --json   print JSON on a terminal too\n'
      : '  --json JSON   the whole body, alone or with other flags\n'
  const usage = [
    'adit api',
    ...words,
    ...ids.map((id) => id.toUpperCase()),
    ...(flags.length > 0 ? ['[--flags]'] : []),
  ]
  const required = flags.filter((flag) => flag.required && flag.path.length === 1)
  const example = [
    ...['adit api', ...words, ...ids.map((id) => id.toUpperCase())],
    ...required.map((flag) => `--${flag.name} ${formatPlaceholder(flag)}`),
  ]
  return `${route.summary}.

Usage
  ${usage.join(' ')}

Example
  ${example.join(' ')}

${flags.length === 0 ? '' : `Flags\n${formatTable(rows)}\n${body}\n`}${COMMON_FLAGS}
It calls ${route.method} ${route.path}.
`
}
