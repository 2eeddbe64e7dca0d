import type { Exchange } from '../exchange.ts'

/** The request head as the upstream gets it: our one reading of it, framed by us, with where it came from. */
export function formatRequestHead(exchange: Exchange): string {
  const { head, connection } = exchange
  const { facts } = head
  let framing = ''
  if (facts.contentLength !== -1) framing = `Content-Length: ${facts.contentLength}\r\n`
  else if (facts.chunked) framing = 'Transfer-Encoding: chunked\r\n'
  if (facts.expectContinue && head.minor === 1) framing += 'Expect: 100-continue\r\n'
  if (facts.trailers) framing += 'TE: trailers\r\n'
  if (exchange.upgrading) framing += 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
  return (
    `${head.method} ${head.target} HTTP/1.1\r\nHost: ${exchange.authority}\r\n${exchange.fieldLines}${framing}` +
    `X-Forwarded-For: ${connection.remoteAddress}\r\nX-Forwarded-Proto: ${connection.scheme}\r\n` +
    `X-Forwarded-Host: ${head.authority}\r\n\r\n`
  )
}
