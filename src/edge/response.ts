import { createHash } from 'node:crypto'
import type { EdgeError } from './errors.ts'

/** A complete response that the edge itself sends. */
export interface EdgeResponse {
  readonly status: number
  /** Field lines, each terminated by CRLF, without those that frame the body. */
  readonly fields: string
  readonly body: Buffer
}

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for HTML. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character]!)
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem;color:#1c1c1c;background:#fff}' +
  'h1{font-size:1.25rem;font-weight:600}code,a{color:#595959}' +
  '@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#161616}code,a{color:#a8a8a8}}'

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

const COMMON_FIELDS =
  'Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n' +
  `Content-Security-Policy: default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; ` +
  "form-action 'none'; frame-ancestors 'none'\r\n"

/** Field lines of a page of the edge: no scripts, no external requests, no framing. */
export const pageFields = `Content-Type: text/html; charset=utf-8\r\n${COMMON_FIELDS}`

/** Renders a page of the edge and escapes its texts. The code links to its explanation below `pagesUrl`. */
export function renderPage(title: string, code: string, pagesUrl?: string): Buffer {
  const heading = escapeHtml(title)
  const label = escapeHtml(code)
  const link = pagesUrl === undefined ? label : `<a href="${escapeHtml(pagesUrl)}/${label}">${label}</a>`
  return Buffer.from(
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
      `<title>${heading}</title><style>${STYLE}</style></head>` +
      `<body><main><h1>${heading}</h1><p><code>${link}</code></p></main></body></html>\n`,
  )
}

/** Renders an error in the form the client accepts: HTML for browsers, JSON for programs, plain text otherwise. */
export function renderError(error: EdgeError, accept: string, pagesUrl?: string): EdgeResponse {
  const { status, code, text } = error
  let fields = `adit-error-code: ${code}\r\n${extraFields(error)}`
  let body: Buffer
  if (accept.includes('text/html')) {
    fields += pageFields
    body = renderPage(text, code, pagesUrl)
  } else if (accept.includes('application/json')) {
    fields += `Content-Type: application/json\r\n${COMMON_FIELDS}`
    body = Buffer.from(JSON.stringify({ error_code: code, status_code: status, msg: text, details: {} }))
  } else {
    fields += `Content-Type: text/plain; charset=utf-8\r\n${COMMON_FIELDS}`
    body = Buffer.from(`${text}\n${code}\n`)
  }
  return { status, fields, body }
}

function extraFields({ name, retryAfter, realm }: EdgeError): string {
  switch (name) {
    case 'too_busy':
    case 'breaker_open':
    case 'no_backend':
    case 'login_busy':
    case 'too_many_logins':
    case 'rate_limited':
      return `Retry-After: ${retryAfter}\r\n`
    case 'credentials_required':
      return `WWW-Authenticate: Basic realm="${realm}", charset="UTF-8"\r\n`
    case 'method_refused':
      return 'Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE\r\n'
    default:
      return ''
  }
}

/** Creates a redirect that no cache stores. */
export function redirect(status: 302 | 303 | 307 | 308, location: string, fields = ''): EdgeResponse {
  return {
    status,
    fields: `Location: ${location}\r\nCache-Control: no-store\r\n${fields}`,
    body: Buffer.alloc(0),
  }
}
