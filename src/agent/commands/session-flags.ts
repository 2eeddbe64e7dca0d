import { type CommandFlag, OUTPUT_FLAG } from '../../command-line/index.ts'

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
  OUTPUT_FLAG,
  { name: 'region', kind: 'text', help: '', replacement: 'no effect; the server decides the region' },
]

/** The flag of the commands that print URLs for browsers. */
export const QR_FLAG: CommandFlag = {
  name: 'qr',
  kind: 'bool',
  help: 'show a QR code of the first URL',
}
