import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { refusals } from '../../protocol/index.ts'
import { BASE_ROOT } from '../version.ts'

/** Codes of what `diagnose` can find, by the step that fails. */
export const DIAGNOSIS_CODES = {
  resolve: 'ERR_NGROK_8000',
  tcp: 'ERR_NGROK_8002',
  tls: 'ERR_NGROK_8003',
  protocol: 'ERR_NGROK_8004',
  resolveProxy: 'ERR_NGROK_8005',
} as const

/** Every code an agent of ours and a server of ours print; a test holds that each has its place in the page. */
export const DOCUMENTED_CODES: ReadonlySet<string> = new Set([
  ...Object.values(refusals).flatMap(({ number }) => (number === undefined ? [] : [`ERR_NGROK_${number}`])),
  ...Object.values(DIAGNOSIS_CODES),
])

const ERROR_PAGE = pathToFileURL(join(BASE_ROOT, 'docs', 'agent-errors.md')).href

/** Where a code is explained: in the documents that were installed with this program. */
export function documentationUrl(code: string): string | undefined {
  return DOCUMENTED_CODES.has(code) ? `${ERROR_PAGE}#${code.toLowerCase()}` : undefined
}

/** A sentence and, as its last lines, its code and where that is explained. */
export function appendCode(message: string, code: string | undefined): string {
  if (code === undefined) return message
  return [message, '', code, documentationUrl(code) ?? []].flat().join('\n')
}
