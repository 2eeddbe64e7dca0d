import type { Exchange } from '../contracts/exchange.ts'

/** Formats the request head for the upstream: the parsed head, framed anew, with the forwarding fields. */
export function formatRequestHead(exchange: Exchange): string {
  const { head, connection } = exchange
  const { framing } = head
  let framingLines = ''
  if (framing.contentLength !== -1) framingLines = `Content-Length: ${framing.contentLength}\r\n`
  else if (framing.chunked) framingLines = 'Transfer-Encoding: chunked\r\n'
  if (framing.expectContinue && head.minor === 1) framingLines += 'Expect: 100-continue\r\n'
  if (framing.acceptsTrailers) framingLines += 'TE: trailers\r\n'
  if (exchange.upgrading) framingLines += 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
  return (
    `${head.method} ${exchange.target} HTTP/1.1\r\nHost: ${exchange.authority}\r\n${exchange.fieldLines}${framingLines}` +
    `X-Forwarded-For: ${connection.remoteAddress}\r\nX-Forwarded-Proto: ${connection.scheme}\r\n` +
    `X-Forwarded-Host: ${head.authority}\r\n\r\n`
  )
}
