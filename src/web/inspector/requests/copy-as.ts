import type { CaptureView } from '../../../agent/local-api/page-data.ts'
import { decodeText, type Message, toBase64 } from '../message/message.ts'

/** Headers that the client sets itself or that concern only the connection. */
const SKIPPED_HEADERS = new Set([
  'host',
  'content-length',
  'connection',
  'transfer-encoding',
  'keep-alive',
  'accept-encoding',
])
/** Headers that the edge adds; copies would have them twice. */
const FORWARDED_HEADERS = /^x-forwarded-(for|proto|host)$/i
const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/

function copyableHeaders({ headers }: Message): [string, string][] {
  return headers.filter(
    ([name]) => TOKEN.test(name) && !SKIPPED_HEADERS.has(name.toLowerCase()) && !FORWARDED_HEADERS.test(name),
  )
}

/** Formats a request as a shell command. Captured content cannot break out of the quotes or control the terminal. */
export function formatCurl(capture: CaptureView, message: Message, url: string, body: Uint8Array): string {
  const parts = ['curl --globoff --path-as-is']
  const { method } = capture.request
  if (!(method === 'GET' && body.length === 0))
    parts.push(method === 'HEAD' ? '--head' : `-X ${shellQuote(method)}`)
  parts.push(shellQuote(url))
  for (const [name, value] of copyableHeaders(message))
    parts.push(`-H ${shellQuote(value === '' ? `${name};` : `${name}: ${value}`)}`)
  const text = decodeText(body)
  // A terminal interprets pasted control characters even inside quotes.
  if (body.length > 0 && text !== undefined && !/[\x0b-\x0d\x1b\x7f-\x9f]/.test(text)) {
    // Not `shellQuote`: it removes newlines, which belong to a body.
    parts.push(`--data-raw '${text.replaceAll("'", "'\\''")}'`)
    return parts.join(' \\\n  ')
  }
  if (body.length === 0) return parts.join(' \\\n  ')
  parts.push('--data-binary @-')
  return `printf %s '${toBase64(body)}' | base64 -d | ${parts.join(' \\\n  ')}`
}

function shellQuote(text: string): string {
  return `'${text.replace(/[\0-\x1f\x7f-\x9f]/g, '').replaceAll("'", "'\\''")}'`
}

/** Formats a request as a call of `fetch`. */
export function formatFetch(capture: CaptureView, message: Message, url: string, body: Uint8Array): string {
  const options: string[] = [`method: ${JSON.stringify(capture.request.method)}`]
  const headers = copyableHeaders(message)
  if (headers.length > 0)
    options.push(`headers: ${JSON.stringify(headers, null, 2).replaceAll('\n', '\n  ')}`)
  if (body.length > 0) {
    const text = decodeText(body)
    options.push(
      text === undefined
        ? `body: Uint8Array.from(atob(${JSON.stringify(toBase64(body))}), (c) => c.charCodeAt(0))`
        : `body: ${JSON.stringify(text)}`,
    )
  }
  return `await fetch(${JSON.stringify(url)}, {\n  ${options.join(',\n  ')},\n})`
}

/** The URL of a request: based on the tunnel's public URL, or on the Host header. */
export function requestUrl(capture: CaptureView, publicUrl: string | undefined): string {
  const host = capture.request.headers.Host?.[0] ?? 'localhost'
  const base = publicUrl?.startsWith('http') ? publicUrl.replace(/\/$/, '') : `https://${host}`
  return capture.request.uri.startsWith('/') ? base + capture.request.uri : base
}
