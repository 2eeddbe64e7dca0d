/** How a body is displayed. */
export type ContentKind = 'empty' | 'json' | 'xml' | 'form' | 'multipart' | 'image' | 'text' | 'binary'

/** Types displayed as images. SVG is not among them: it is a document and shown as text. */
const IMAGE_TYPES = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
  'image/x-icon',
])

/** The media type without parameters, in lower case. */
export function parseMediaType(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase()
}

/** Decides by the declared type and by whether the body is text. */
export function detectKind(contentType: string, size: number, text: string | undefined): ContentKind {
  const type = parseMediaType(contentType)
  if (size === 0) return 'empty'
  if (IMAGE_TYPES.has(type)) return 'image'
  if (type === 'multipart/form-data') return 'multipart'
  if (text === undefined) return 'binary'
  if (type === 'application/json' || type.endsWith('+json')) return 'json'
  if (type === 'application/xml' || type === 'text/xml' || type.endsWith('+xml')) return 'xml'
  if (type === 'application/x-www-form-urlencoded') return 'form'
  if (type === '' && /^\s*[[{]/.test(text)) return 'json'
  return 'text'
}

/** The name and value pairs of a form or a query, in order. */
export function parsePairs(text: string): [string, string][] {
  return [...new URLSearchParams(text)]
}

/** The name and value pairs of a request target's query. */
export function parseQueryString(uri: string): [string, string][] {
  const mark = uri.indexOf('?')
  return mark < 0 ? [] : parsePairs(uri.slice(mark + 1))
}

/** The operation name of a GraphQL request; undefined for other bodies. */
export function graphqlOperation(json: string): string | undefined {
  try {
    const body = JSON.parse(json) as { query?: unknown; operationName?: unknown } | null
    if (typeof body?.query !== 'string') return undefined
    if (typeof body.operationName === 'string' && body.operationName !== '') return body.operationName
    const [, kind = 'query', name] = /^\s*(query|mutation|subscription)?\s*(\w+)?/.exec(body.query) ?? []
    return name ?? `unnamed ${kind}`
  } catch {
    return undefined
  }
}
