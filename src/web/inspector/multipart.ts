import { asText, header, latin1 } from './message.ts'

/** One part of a multipart body. */
export interface Part {
  name: string
  filename: string | undefined
  contentType: string
  size: number
  /** The content when it is text. */
  text: string | undefined
}

/** Takes a multipart body apart; undefined when it names no boundary. */
export function partsOf(body: Uint8Array, contentType: string): Part[] | undefined {
  const boundary = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType)
  if (!boundary) return undefined
  const text = latin1(body)
  const marker = `--${boundary[1] ?? boundary[2]}`
  const parts: Part[] = []
  for (let at = text.indexOf(marker); at >= 0; ) {
    const from = at + marker.length
    const next = text.indexOf(marker, from)
    if (text.startsWith('--', from)) break
    const end = next < 0 ? text.length : next - 2
    const split = text.indexOf('\r\n\r\n', from)
    if (split >= 0 && split <= end)
      parts.push(readPart(text.slice(from, split), body.subarray(split + 4, end)))
    at = next
  }
  return parts
}

function readPart(head: string, content: Uint8Array): Part {
  const headers = head
    .split('\r\n')
    .filter((line) => line.includes(':'))
    .map((line): [string, string] => [
      line.slice(0, line.indexOf(':')),
      line.slice(line.indexOf(':') + 1).trim(),
    ])
  const disposition = header(headers, 'content-disposition')
  return {
    name: /[;\s]name="([^"]*)"/i.exec(disposition)?.[1] ?? '',
    filename: /[;\s]filename="([^"]*)"/i.exec(disposition)?.[1],
    contentType: header(headers, 'content-type'),
    size: content.length,
    text: asText(content),
  }
}
