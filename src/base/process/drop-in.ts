import { basename } from 'node:path'

const ORIGINAL_NAME = /^ngrok(\.exe)?$/i

/**
 * Whether the program was started as `ngrok`, through a link: then it prints what programs that wrap the original read
 * (docs/drop-in.md). The script of a checkout passes the name as the title of the process.
 */
export const IS_DROP_IN: boolean = [process.title, process.argv0, process.argv[1] ?? ''].some((path) =>
  ORIGINAL_NAME.test(basename(path)),
)

/** The version of the original whose command line, configuration files and local API this program follows. */
export const DROP_IN_VERSION = '3.22.0'

/** A text for the terminal, with the error codes that the name of the program promises. */
export function withPrintedCodes(text: string): string {
  return IS_DROP_IN ? text.replaceAll('ERR_ADIT_', 'ERR_NGROK_') : text
}

/** Removes the program's own path, which java-ngrok passes as the first argument of `update`. */
export function dropOwnPath(args: readonly string[]): string[] {
  const [first = '', ...rest] = args
  const isOwnPath = /[/\\]/.test(first) && /^(adit|ngrok)(\.exe)?$/i.test(basename(first))
  return isOwnPath && rest.length > 0 ? rest : [...args]
}
