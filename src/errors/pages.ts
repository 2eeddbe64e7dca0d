import { escapeHtml, renderInlineCode } from '../base/http/html.ts'
import type { ErrorEntry } from './catalogue.ts'

/** The explanation of one error code, for the documentation site. */
export function renderExplanation({ code, area, status, cause, next }: ErrorEntry): string {
  const origin = status === undefined ? area : `${area}, status ${status}`
  return (
    `<h1>${code}</h1><p>${escapeHtml(origin)}</p><h2>Cause</h2><p>${renderInlineCode(cause)}</p>` +
    `<h2>Next step</h2><p>${renderInlineCode(next)}</p><p><a href="/docs/errors">All error codes</a></p>`
  )
}
