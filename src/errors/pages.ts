import type { ErrorEntry } from './catalogue.ts'

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Escaped text in which backticks mark code. */
function renderText(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

function renderDocument(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><link rel="stylesheet" href="/reference.css"></head><body>
<main>${content}</main></body></html>
`
}

/** The page of one error code. */
export function renderErrorPage({ code, area, status, cause, next }: ErrorEntry): string {
  const origin = status === undefined ? area : `${area}, status ${status}`
  return renderDocument(
    `${code}: Adit`,
    `<h1>${code}</h1><p>${escapeHtml(origin)}</p><h2>Cause</h2><p>${renderText(cause)}</p>` +
      `<h2>Next step</h2><p>${renderText(next)}</p><p><a href="/docs/errors">All error codes</a></p>`,
  )
}

/** The page of all error codes. */
export function renderErrorList(entries: readonly ErrorEntry[]): string {
  const sections = [...Map.groupBy(entries, ({ area }) => area)].map(
    ([area, group]) =>
      `<section><h2>${escapeHtml(area)}</h2><table>${group
        .map(
          ({ code, cause }) =>
            `<tr><td><a href="/docs/errors/${code}"><code>${code}</code></a></td><td>${renderText(cause)}</td></tr>`,
        )
        .join('')}</table></section>`,
  )
  return renderDocument('Error codes: Adit', `<h1>Error codes</h1>${sections.join('')}`)
}
