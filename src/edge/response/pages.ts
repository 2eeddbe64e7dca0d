import { createHash } from 'node:crypto'
import { escapeHtml } from '../../base/http/html.ts'
import type { ErrorPageTexts } from '../error-kinds.ts'
import type { ErrorLink } from '../errors.ts'

const STYLE = `
:root{color-scheme:light dark;--paper:light-dark(#faf9f6,#171614);--raised:light-dark(#fff,#1f1e1b);--line:light-dark(#dcd8cf,#3a3732);
--ink:light-dark(#1d1b17,#ece8e0);--quiet:light-dark(#635d52,#a9a294);--accent:light-dark(#8a5200,#f0b429);
--green:light-dark(#17693a,#6fcf97);--red:light-dark(#b3261e,#ff8a80)}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem 1rem;color:var(--ink);background:var(--paper);
font:16px/1.55 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{width:100%;max-width:40rem;min-width:0;padding:2rem;background:var(--raised);border:1px solid var(--line);
border-top:4px solid var(--accent);border-radius:4px;overflow-wrap:anywhere}
.status{margin:0;color:var(--accent);font:600 .95rem ui-monospace,"DejaVu Sans Mono",monospace}
h1{margin:.2rem 0 .6rem;font-size:1.6rem;line-height:1.25;text-wrap:balance}
h2{margin:0 0 .2rem;font-size:.85rem;color:var(--quiet);font-weight:600}
p{margin:0}
ol{list-style:none;display:grid;grid-template-columns:repeat(4,1fr);gap:1rem .5rem;margin:1.6rem 0 0;padding:0}
li{min-width:0;padding-top:.5rem;border-top:3px solid var(--green);font-size:.85rem;line-height:1.3}
li b{display:block;font-weight:600}li span{color:var(--green)}
li.bad{border-color:var(--red)}li.bad span{color:var(--red)}
li.idle{border-color:var(--line)}li.idle span{color:var(--quiet)}
section{margin-top:1.4rem}
footer{margin-top:1.8rem;padding-top:1rem;border-top:1px solid var(--line);color:var(--quiet);font-size:.85rem}
a{color:var(--accent)}code{font-family:ui-monospace,"DejaVu Sans Mono",monospace}
@media(max-width:30rem){main{padding:1.25rem}h1{font-size:1.35rem}ol{grid-template-columns:1fr 1fr}}
`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** Field lines that every response of the edge itself carries. */
export const commonFields =
  'Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n'

/** The policy of the edge's own pages: no scripts, no external requests, no framing. */
export const pagePolicy =
  `Content-Security-Policy: default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; ` +
  "form-action 'none'; frame-ancestors 'none'\r\n"

/** Field lines of a page of the edge. */
export const pageFields = `Content-Type: text/html; charset=utf-8\r\n${commonFields}${pagePolicy}`

const STATIONS = [
  ['browser', 'Your browser'],
  ['server', 'Tunnel server'],
  ['agent', 'Agent'],
  ['service', 'Service'],
] as const

/** The way of a request and where it stopped, said in words as well as in colour. */
function renderPath(stoppedAt: NonNullable<ErrorPageTexts['stoppedAt']>): string {
  const fault = STATIONS.findIndex(([station]) => station === stoppedAt)
  const items = STATIONS.map(([, label], index) => {
    const [state, text] =
      index < fault ? ['good', 'Working'] : index === fault ? ['bad', 'Problem'] : ['idle', 'Not reached']
    return `<li class="${state}"><b>${label}</b><span>${text}</span></li>`
  })
  return `<ol aria-label="Path of the request">${items.join('')}</ol>`
}

function renderDocument(title: string, content: string): Buffer {
  return Buffer.from(
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">' +
      '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">' +
      `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><main>${content}</main></body></html>\n`,
  )
}

/** Text in which what stands between backticks is code. */
function renderText(text: string): string {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? escapeHtml(part) : `<code>${escapeHtml(part)}</code>`))
    .join('')
}

/** Renders a page of the edge that is no error. */
export function renderPage(title: string, message: string): Buffer {
  return renderDocument(title, `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(message)}</p>`)
}

/** What an error page shows. */
export interface ErrorPageContent extends ErrorPageTexts {
  readonly status: number
  readonly message: string
  readonly code: string
  /** Base URL of the pages that explain error codes. */
  readonly pagesUrl: string | undefined
  readonly links: readonly ErrorLink[]
}

/** Renders the page of an error and escapes its texts. */
export function renderErrorPage(content: ErrorPageContent): Buffer {
  const { title, message, visitor, owner, stoppedAt, pagesUrl, links } = content
  const code = escapeHtml(content.code)
  const link = pagesUrl === undefined ? code : `<a href="${escapeHtml(pagesUrl)}/${code}">${code}</a>`
  const section = (heading: string, text: string, more = '') =>
    `<section><h2>${heading}</h2><p>${renderText(text)}</p>${more}</section>`
  const goOn = links
    .map(({ text, url }) => `<p><a href="${escapeHtml(url)}">${escapeHtml(text)}</a></p>`)
    .join('')
  return renderDocument(
    title,
    `<p class="status">Error ${content.status}</p><h1>${escapeHtml(title)}</h1><p dir="auto">${escapeHtml(message)}</p>` +
      (stoppedAt === undefined ? '' : renderPath(stoppedAt)) +
      section('What you can do', visitor, goOn) +
      (owner === undefined ? '' : section('If you run this site', owner)) +
      `<footer><code>${link}</code></footer>`,
  )
}
