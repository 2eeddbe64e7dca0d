import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { refusals } from '../../protocol/index.ts'
import { BASE_ROOT } from '../version.ts'

/** Codes of what `diagnose` can find, by the step that fails. */
export const FINDINGS = {
  resolve: 'ERR_NGROK_8000',
  tcp: 'ERR_NGROK_8002',
  tls: 'ERR_NGROK_8003',
  protocol: 'ERR_NGROK_8004',
  resolveProxy: 'ERR_NGROK_8005',
} as const

/** Every code an agent of ours and a server of ours print; a test holds that each has its place in the page. */
export const DOCUMENTED: ReadonlySet<string> = new Set([
  ...Object.values(refusals).flatMap(({ number }) => (number === undefined ? [] : [`ERR_NGROK_${number}`])),
  ...Object.values(FINDINGS),
])

const PAGE = pathToFileURL(join(BASE_ROOT, 'docs', 'agent-errors.md')).href

/** Where a code is explained: in the documents that were installed with this program. */
export function documentationOf(code: string): string | undefined {
  return DOCUMENTED.has(code) ? `${PAGE}#${code.toLowerCase()}` : undefined
}

/** A sentence and, as its last lines, its code and where that is explained. */
export function withCode(message: string, code: string | undefined): string {
  if (code === undefined) return message
  return [message, '', code, documentationOf(code) ?? []].flat().join('\n')
}
