import type { ByteStream, StreamSink } from '../../base/io/streams/stream.ts'
import { silentSink } from '../../base/io/streams/stream.ts'

/** A request as parsed from the forwarded bytes. */
export interface RecordedRequest {
  method: string
  target: string
  host: string
  body: string
}

/**
 * An upstream that records every byte and parses requests with the most lenient reading of RFC 9112: it accepts far
 * more than the edge should ever send. It responds to each request, so that the next one follows.
 */
export class Recorder implements ByteStream {
  sink: StreamSink = silentSink
  bytes = ''
  readonly requests: RecordedRequest[] = []
  #offset = 0
  #closed = false
  readonly #response: string

  constructor(answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok') {
    this.#response = answer
  }

  write(chunk: Buffer): boolean {
    this.bytes += chunk.toString('latin1')
    for (;;) {
      const request = parseRequest(this.bytes, this.#offset)
      if (request === undefined) break
      this.#offset = request.end
      this.requests.push(request.request)
      setImmediate(() => {
        if (this.#closed) return
        const chunk = Buffer.from(this.#response)
        this.sink.onData(chunk)
        // The link reuses its buffers too: a chunk kept without a copy would change.
        chunk.fill('!')
      })
    }
    return true
  }

  end(): void {}

  reset(error?: Error): void {
    if (this.#closed) return
    this.#closed = true
    setImmediate(() => this.sink.onClose(error))
  }

  consumed(): void {}
}

function parseRequest(text: string, offset: number): { request: RecordedRequest; end: number } | undefined {
  const headEnd = text.indexOf('\r\n\r\n', offset)
  if (headEnd === -1) return undefined
  const [line = '', ...fields] = text.slice(offset, headEnd).split(/\r?\n/)
  const [method = '', target = ''] = line.split(' ')
  let length = 0
  let chunked = false
  let host = ''
  for (const field of fields) {
    const colon = field.indexOf(':')
    const name = field.slice(0, colon).trim().toLowerCase()
    const value = field.slice(colon + 1).trim()
    if (name === 'content-length') length = Math.max(0, Number.parseInt(value, 10) || 0)
    if (name === 'transfer-encoding' && /chunked/i.test(value)) chunked = true
    if (name === 'host') host = value
  }
  const start = headEnd + 4
  if (!chunked) {
    if (text.length < start + length) return undefined
    return { request: { method, target, host, body: text.slice(start, start + length) }, end: start + length }
  }
  const body = parseChunks(text, start)
  return body === undefined
    ? undefined
    : { request: { method, target, host, body: body.data }, end: body.end }
}

function parseChunks(text: string, offset: number): { data: string; end: number } | undefined {
  let data = ''
  let position = offset
  for (;;) {
    const lineEnd = text.indexOf('\n', position)
    if (lineEnd === -1) return undefined
    const size = Number.parseInt(text.slice(position, lineEnd), 16)
    position = lineEnd + 1
    if (!(size > 0)) break
    if (text.length < position + size + 2) return undefined
    data += text.slice(position, position + size)
    position += size + 2
  }
  for (;;) {
    const lineEnd = text.indexOf('\r\n', position)
    if (lineEnd === -1) return undefined
    if (lineEnd === position) return { data, end: position + 2 }
    position = lineEnd + 2
  }
}
