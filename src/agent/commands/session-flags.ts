import { CommandFailure } from '../../base/process/command-line.ts'

/** A command-line flag and the key it sets. */
export interface CommandFlag {
  /** Without hyphens. */
  name: string
  kind: 'text' | 'bool' | 'list'
  help: string
  /** Key of the tunnel definition, dotted when nested; absent for flags the command itself reads. */
  key?: string
  /** True when one flag may carry several comma-separated values. */
  commaSeparated?: boolean
  /** The replacement of a deprecated flag, which is hidden from the help and gives a warning. */
  replacement?: string
}

/** Flags of every command. */
export const COMMON_FLAGS: readonly CommandFlag[] = [
  {
    name: 'config',
    kind: 'list',
    help: 'configuration file, may be repeated or comma-separated; later files win',
  },
  { name: 'log', kind: 'text', help: 'where to log: a path, stdout, stderr or false' },
  { name: 'log-format', kind: 'text', help: 'term, logfmt or json' },
  { name: 'log-level', kind: 'text', help: 'debug, info, warn, error or crit' },
]

/** Flags of the commands that connect to a server. */
export const SESSION_FLAGS: readonly CommandFlag[] = [
  {
    name: 'authtoken',
    kind: 'text',
    help: 'authtoken of the server (safer in a file: other users can see your command line)',
  },
  { name: 'authtoken-file', kind: 'text', help: 'file with the authtoken' },
  { name: 'connect-url', kind: 'text', help: 'host:port of the server; comma-separated for several' },
  { name: 'root-cas', kind: 'text', help: 'authorities to trust: a PEM file, "host" or "trusted"' },
  { name: 'web-addr', kind: 'text', help: 'address of the local API and inspector, or false' },
  {
    name: 'inspect-db-file',
    kind: 'text',
    help: 'file that keeps captured requests across restarts (readable only by you)',
  },
  { name: 'update-url', kind: 'text', help: 'directory or URL of updates' },
  { name: 'update-key', kind: 'text', help: 'public key that verifies updates' },
  { name: 'output', kind: 'text', help: '"json" prints JSON instead of text' },
  { name: 'region', kind: 'text', help: '', replacement: 'no effect; the server decides the region' },
]

/** The flag of the commands that print URLs for browsers. */
export const QR_FLAG: CommandFlag = {
  name: 'qr',
  kind: 'bool',
  help: 'show a QR code of the first URL',
}

/** Flag values by name, as the parser returns them. */
export type FlagValues = Readonly<Record<string, string | string[] | undefined>>

/** Whether `--output json` is set, the only alternative to text. */
export function isJsonOutput({ output }: FlagValues): boolean {
  if (output !== undefined && output !== 'json')
    throw new CommandFailure(`--output must be json, not "${output}"`)
  return output === 'json'
}
