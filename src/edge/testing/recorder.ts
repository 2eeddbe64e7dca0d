import type { ByteStream, StreamSink } from '../../base/io/stream.ts'
import { silentSink } from '../../base/io/stream.ts'

/** One request as some reader of the forwarded bytes understood it. */
export interface SeenRequest {
  method: string
  target: string
  host: string
  body: string
}

/**
 * An upstream that keeps every byte and finds the requests in them with the plainest reading of RFC 9112: it accepts
 * much more than the edge should ever send. Each request is answered, so that the next one comes.
 */
export class Recorder implements ByteStream {
  sink: StreamSink = silentSink
  bytes = ''
  readonly requests: SeenRequest[] = []
  #at = 0
  #closed = false
  readonly #answer: string

  constructor(answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok') {
    this.#answer = answer
  }

  write(chunk: Buffer): boolean {
    this.bytes += chunk.toString('latin1')
    for (;;) {
      const request = readRequest(this.bytes, this.#at)
      if (request === undefined) break
      this.#at = request.end
      this.requests.push(request.seen)
      setImmediate(() => {
        if (this.#closed) return
        const piece = Buffer.from(this.#answer)
        this.sink.onData(piece)
        // As the link does: whoever keeps a piece without copying it finds something else there.
        piece.fill('!')
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

function readRequest(text: string, at: number): { seen: SeenRequest; end: number } | undefined {
  const headEnd = text.indexOf('\r\n\r\n', at)
  if (headEnd === -1) return undefined
  const [line = '', ...fields] = text.slice(at, headEnd).split(/\r?\n/)
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
    return { seen: { method, target, host, body: text.slice(start, start + length) }, end: start + length }
  }
  const body = readChunks(text, start)
  return body === undefined ? undefined : { seen: { method, target, host, body: body.data }, end: body.end }
}

function readChunks(text: string, at: number): { data: string; end: number } | undefined {
  let data = ''
  let p = at
  for (;;) {
    const lineEnd = text.indexOf('\n', p)
    if (lineEnd === -1) return undefined
    const size = Number.parseInt(text.slice(p, lineEnd), 16)
    p = lineEnd + 1
    if (!(size > 0)) break
    if (text.length < p + size + 2) return undefined
    data += text.slice(p, p + size)
    p += size + 2
  }
  for (;;) {
    const lineEnd = text.indexOf('\r\n', p)
    if (lineEnd === -1) return undefined
    if (lineEnd === p) return { data, end: p + 2 }
    p = lineEnd + 2
  }
}
