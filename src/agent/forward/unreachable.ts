import type { ByteStream } from '../../base/io/streams/stream.ts'
import { DIAL_FAILURE_FIELD, type DialFailureName } from '../../protocol/index.ts'

/** Responds 502 to an HTTP request whose upstream cannot be reached, then ends the stream. */
export function respondUnreachable(
  stream: ByteStream,
  failure: DialFailureName | undefined,
  reason: string,
  onClosed: () => void,
): void {
  const body = `failed to dial backend: ${reason}\n`
  const head = [
    'HTTP/1.1 502 Bad Gateway',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    ...(failure === undefined ? [] : [`${DIAL_FAILURE_FIELD}: ${failure}`]),
  ]
  stream.sink = {
    // The rest of the request is discarded, but credited so that its sender does not stall.
    onData: (chunk) => stream.consumed(chunk.length),
    onEnd() {},
    onDrain() {},
    onClose: onClosed,
  }
  stream.write(Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`))
  stream.end()
}
