import type { ClientHttp2Session, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'

/** What an HTTP/2 stream returned, and the code with which it ended. */
export interface Http2Response {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly trailers: IncomingHttpHeaders | undefined
  readonly code: number
}

/** Sends a request on a stream of an HTTP/2 connection. */
export async function sendHttp2(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: Buffer,
): Promise<Http2Response> {
  const stream = session.request(headers, { endStream: body === undefined })
  let responseHeaders: IncomingHttpHeaders = {}
  let trailers: IncomingHttpHeaders | undefined
  const chunks: Buffer[] = []
  stream.on('response', (headers) => {
    responseHeaders = headers
  })
  stream.on('trailers', (headers) => {
    trailers = headers
  })
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.on('error', () => {})
  if (body !== undefined) stream.end(body)
  await new Promise((resolve) => stream.once('close', resolve))
  return { headers: responseHeaders, body: Buffer.concat(chunks), trailers, code: stream.rstCode ?? -1 }
}
