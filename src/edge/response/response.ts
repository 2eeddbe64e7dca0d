import type { EdgeError } from '../errors.ts'
import { type CustomErrorPage, customPageFields } from './custom-error-page.ts'
import { commonFields, pageFields, pagePolicy, renderErrorPage } from './pages.ts'

/** A complete response that the edge itself sends. */
export interface EdgeResponse {
  readonly status: number
  /** Field lines, each terminated by CRLF, without those that frame the body. */
  readonly fields: string
  readonly body: Buffer
}

/** Where an error is shown, and what replaces the platform's page there. */
export interface ErrorContext {
  readonly host: string
  /** Base URL of the pages that explain error codes. */
  readonly pagesUrl: string | undefined
  findPage(status: number): CustomErrorPage | undefined
}

const NO_CONTEXT: ErrorContext = { host: '', pagesUrl: undefined, findPage: () => undefined }

/** Renders an error in the form the client accepts: HTML for browsers, JSON for programs, plain text otherwise. */
export function renderError(error: EdgeError, accept: string, context = NO_CONTEXT): EdgeResponse {
  const { status, code, text } = error
  let fields = `adit-error-code: ${code}\r\n${extraFields(error)}`
  let body: Buffer
  if (accept.includes('text/html')) {
    const { page: texts, links } = error
    const page = context.findPage(status)
    fields += page === undefined ? pageFields : customPageFields
    body =
      page === undefined
        ? renderErrorPage({ ...texts, status, code, message: text, pagesUrl: context.pagesUrl, links })
        : page.render({
            status: `${status}`,
            title: texts.title,
            message: text,
            next_step: texts.visitor,
            owner_step: texts.owner ?? '',
            code,
            host: context.host,
          })
  } else if (accept.includes('application/json')) {
    fields += `Content-Type: application/json\r\n${commonFields}${pagePolicy}`
    body = Buffer.from(JSON.stringify({ error_code: code, status_code: status, msg: text, details: {} }))
  } else {
    fields += `Content-Type: text/plain; charset=utf-8\r\n${commonFields}${pagePolicy}`
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
    case 'login_required':
      return `WWW-Authenticate: Bearer realm="${realm}"\r\n`
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
