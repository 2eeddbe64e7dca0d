import { decodeText, headerValue, latin1 } from './message.ts'

/** One part of a multipart body. */
export interface MultipartPart {
  name: string
  filename: string | undefined
  contentType: string
  size: number
  /** The content if it is text. */
  text: string | undefined
}

/** Parses a multipart body; undefined if the content type has no boundary. */
export function parseMultipart(body: Uint8Array, contentType: string): MultipartPart[] | undefined {
  const boundary = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType)
  if (!boundary) return undefined
  const text = latin1(body)
  const marker = `--${boundary[1] ?? boundary[2]}`
  const parts: MultipartPart[] = []
  for (let index = text.indexOf(marker); index >= 0; ) {
    const start = index + marker.length
    const next = text.indexOf(marker, start)
    if (text.startsWith('--', start)) break
    const end = next < 0 ? text.length : next - 2
    const headEnd = text.indexOf('\r\n\r\n', start)
    if (headEnd >= 0 && headEnd <= end)
      parts.push(parsePart(text.slice(start, headEnd), body.subarray(headEnd + 4, end)))
    index = next
  }
  return parts
}

function parsePart(head: string, content: Uint8Array): MultipartPart {
  const headers = head
    .split('\r\n')
    .filter((line) => line.includes(':'))
    .map((line): [string, string] => [
      line.slice(0, line.indexOf(':')),
      line.slice(line.indexOf(':') + 1).trim(),
    ])
  const disposition = headerValue(headers, 'content-disposition')
  return {
    name: /[;\s]name="([^"]*)"/i.exec(disposition)?.[1] ?? '',
    filename: /[;\s]filename="([^"]*)"/i.exec(disposition)?.[1],
    contentType: headerValue(headers, 'content-type'),
    size: content.length,
    text: decodeText(content),
  }
}
