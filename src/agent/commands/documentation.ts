import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { IS_EXECUTABLE } from '../../base/program-files.ts'
import { BASE_ROOT } from '../../base/version.ts'
import { protocolErrors } from '../../protocol/index.ts'

/** Error codes of `diagnose`, by the failed step. */
export const DIAGNOSIS_CODES = {
  resolve: 'ERR_NGROK_8000',
  tcp: 'ERR_NGROK_8002',
  tls: 'ERR_NGROK_8003',
  protocol: 'ERR_NGROK_8004',
  resolveProxy: 'ERR_NGROK_8005',
} as const

/** Every error code that agents and servers print; a test checks that the page documents each. */
export const DOCUMENTED_CODES: ReadonlySet<string> = new Set([
  ...Object.values(protocolErrors).flatMap(({ number }) =>
    number === undefined ? [] : [`ERR_NGROK_${number}`],
  ),
  ...Object.values(DIAGNOSIS_CODES),
])

const ERROR_PAGE = pathToFileURL(join(BASE_ROOT, 'docs', 'agent-errors.md')).href

/** URL of a code's explanation in the installed documentation, which a single executable is without. */
export function documentationUrl(code: string): string | undefined {
  return DOCUMENTED_CODES.has(code) && !IS_EXECUTABLE ? `${ERROR_PAGE}#${code.toLowerCase()}` : undefined
}

/** Appends the code and the URL of its explanation to a message. */
export function appendCode(message: string, code: string | undefined): string {
  if (code === undefined) return message
  return [message, '', code, documentationUrl(code) ?? []].flat().join('\n')
}
