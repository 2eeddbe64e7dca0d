import type { ErrorEntry } from './catalogue.ts'

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Escaped text in which backticks mark code. */
function renderText(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

/** The explanation of one error code, for the documentation site. */
export function renderExplanation({ code, area, status, cause, next }: ErrorEntry): string {
  const origin = status === undefined ? area : `${area}, status ${status}`
  return (
    `<h1>${code}</h1><p>${escapeHtml(origin)}</p><h2>Cause</h2><p>${renderText(cause)}</p>` +
    `<h2>Next step</h2><p>${renderText(next)}</p><p><a href="/docs/errors">All error codes</a></p>`
  )
}
