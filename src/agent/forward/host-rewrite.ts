import { trimOws } from '../../base/http/optional-white-space.ts'
import type { ByteStream } from '../../base/io/streams/stream.ts'
import { StreamLayer } from '../../base/io/streams/stream-layer.ts'
import { type MessageHead, MessageScanner, parseStatus, requestFraming, responseFraming } from '../http1.ts'

/** The host names on the two sides of a rewritten connection. */
export interface HostNames {
  /** The Host value sent to the upstream. */
  upstream: string
  /** What it serves is of this origin for its own pages, such as `http://localhost:3000`. */
  upstreamOrigin: string
  /** The public origin, such as `https://app.example.com`; empty when the tunnel has none (labels). */
  publicOrigin: string
}

/**
 * Rewrites the Host header for the upstream, and Origin and Referer where they name the visited host; rewrites redirects to
 * the upstream back to the public origin. Data that is not HTTP/1 passes unchanged.
 */
export class HostRewriteStream extends StreamLayer {
  readonly #names: HostNames
  readonly #requests: MessageScanner
  readonly #responses: MessageScanner
  readonly #pendingMethods: string[] = []
  #writable = true

  constructor(inner: ByteStream, names: HostNames) {
    super(inner)
    this.#names = names
    const toUpstream = (bytes: Buffer) => this.sink.onData(bytes)
    const toClient = (bytes: Buffer) => {
      this.#writable = this.inner.write(bytes)
    }
    this.#requests = new MessageScanner({
      head: (bytes, head) => this.#requestHead(bytes, head),
      body: toUpstream,
      end() {},
      raw: toUpstream,
    })
    this.#responses = new MessageScanner({
      head: (bytes, head) => this.#responseHead(bytes, head),
      body: toClient,
      end() {},
      raw: toClient,
    })
  }

  override onData(chunk: Buffer): void {
    this.#requests.push(chunk)
  }

  override onEnd(): void {
    this.#requests.finish()
    this.sink.onEnd()
  }

  override write(chunk: Buffer): boolean {
    this.#writable = true
    this.#responses.push(chunk)
    return this.#writable
  }

  override end(): void {
    this.#responses.finish()
    this.inner.end()
  }

  #requestHead(bytes: Buffer, head: MessageHead) {
    this.#pendingMethods.push(head.line.slice(0, head.line.indexOf(' ')))
    const rewritten = rewriteRequest(bytes, this.#names)
    // The layers above never see the removed bytes, so this layer has to credit them.
    if (rewritten.length < bytes.length) this.inner.consumed(bytes.length - rewritten.length)
    this.sink.onData(rewritten)
    return requestFraming(head)
  }

  #responseHead(bytes: Buffer, head: MessageHead) {
    const status = parseStatus(head.line)
    const interim = status >= 100 && status < 200 && status !== 101
    const method = (interim ? this.#pendingMethods[0] : this.#pendingMethods.shift()) ?? 'GET'
    this.#writable = this.inner.write(rewriteLocation(bytes, this.#names))
    const framing = responseFraming(head, method)
    if (framing === 'stop') this.#requests.stop()
    return framing
  }
}

const SOURCE_FIELD = /^(origin|referer)[ \t]*:[ \t]*(https?:\/\/[^/?#\s]*)/i

/** Replaces Host and preserves the client's value in X-Forwarded-Host. */
function rewriteRequest(bytes: Buffer, { upstream, upstreamOrigin, publicOrigin }: HostNames): Buffer {
  const lines = bytes.toString('latin1').split('\r\n')
  const hostIndex = findField(lines, 'host')
  if (hostIndex < 0) return bytes
  const original = valueOfField(lines[hostIndex]!)
  lines[hostIndex] = `Host: ${upstream}`
  const forwarded = findField(lines, 'x-forwarded-host')
  const proto = findField(lines, 'x-forwarded-proto')
  const publicScheme = publicOrigin.startsWith('http:') ? 'http' : 'https'
  const scheme = proto < 0 ? publicScheme : valueOfField(lines[proto]!)
  const visited = `${scheme}://${forwarded < 0 ? original : valueOfField(lines[forwarded]!)}`.toLowerCase()
  for (const [index, line] of lines.entries()) {
    const match = SOURCE_FIELD.exec(line)
    // Another site must not pass for the service's own pages.
    if (match !== null && match[2]!.toLowerCase() === visited)
      lines[index] = `${match[1]}: ${upstreamOrigin}${line.slice(match[0].length)}`
  }
  if (forwarded < 0) lines.splice(hostIndex + 1, 0, `X-Forwarded-Host: ${original}`)
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

/** The line of a field, after the request line. */
function findField(lines: readonly string[], name: string): number {
  return lines.findIndex(
    (line, index) =>
      index > 0 && trimOws(line.slice(0, Math.max(0, line.indexOf(':')))).toLowerCase() === name,
  )
}

const valueOfField = (line: string) => trimOws(line.slice(line.indexOf(':') + 1))

function rewriteLocation(bytes: Buffer, { upstream, publicOrigin }: HostNames): Buffer {
  if (publicOrigin === '') return bytes
  const text = bytes.toString('latin1')
  const match = /\r\nlocation[ \t]*:[ \t]*(https?:\/\/([^/?#\r\n]*))/i.exec(text)
  if (!match || match[2]!.toLowerCase() !== upstream.toLowerCase()) return bytes
  const end = match.index + match[0].length
  return Buffer.from(text.slice(0, end - match[1]!.length) + publicOrigin + text.slice(end), 'latin1')
}
