/** Bytes a client might send, and how many requests may reach the upstream. */
export interface Payload {
  readonly bytes: string
  readonly forwardedRequests: number
}

const HOST = 'Host: a.example\r\n'
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: a.example\r\n\r\n'
const NEXT = 'GET /next HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n'

const post = (fields: string, body: string) => `POST /first HTTP/1.1\r\n${HOST}${fields}\r\n${body}`
const get = (fields: string, rest = '') => `GET /first HTTP/1.1\r\n${HOST}${fields}\r\n${rest}`

const rejected: string[] = [
  // Two lengths, or an invalid one.
  post('Content-Length: 5\r\nContent-Length: 0\r\n', `hello${SMUGGLED}`),
  post('Content-Length: 0\r\nContent-Length: 44\r\n', SMUGGLED),
  post('Content-Length: 5\r\nContent-Length: 5\r\n', `hello${NEXT}`),
  post('Content-Length: 5, 5\r\n', `hello${SMUGGLED}`),
  post('Content-Length: 5,0\r\n', `hello${SMUGGLED}`),
  post('Content-Length: +5\r\n', `hello${SMUGGLED}`),
  post('Content-Length: -1\r\n', SMUGGLED),
  post('Content-Length: 0x5\r\n', `hello${SMUGGLED}`),
  post('Content-Length: 5 \x0b\r\n', `hello${SMUGGLED}`),
  post('Content-Length: 5 6\r\n', `hello${SMUGGLED}`),
  post('Content-Length: 5\x00\r\n', `hello${SMUGGLED}`),
  post('Content-Length: \r\n', SMUGGLED),
  post('Content-Length: 5e0\r\n', `hello${SMUGGLED}`),
  post('Content-Length: 5.0\r\n', `hello${SMUGGLED}`),
  post('Content-Length: 18446744073709551616\r\n', SMUGGLED),
  post('Content-Length: \xb2\r\n', `xx${SMUGGLED}`),
  post('Content-Length : 5\r\n', `hello${SMUGGLED}`),
  post('Content-Length\t: 5\r\n', `hello${SMUGGLED}`),
  post(' Content-Length: 5\r\n', `hello${SMUGGLED}`),
  post('X: y\r\n Content-Length: 5\r\n', `hello${SMUGGLED}`),
  post('X: y\nContent-Length: 5\r\n', `hello${SMUGGLED}`),
  post('X: y\rContent-Length: 5\r\n', `hello${SMUGGLED}`),
  post('\x00Content-Length: 5\r\n', `hello${SMUGGLED}`),
  // Length and chunks.
  post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: chunked\r\nContent-Length: 0\r\n', `0\r\n\r\n${SMUGGLED}`),
  // Transfer codings other than plain chunked.
  post('Transfer-Encoding: identity\r\nContent-Length: 5\r\n', `hello${SMUGGLED}`),
  post('Transfer-Encoding: identity\r\n', SMUGGLED),
  post('Transfer-Encoding: gzip, chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: chunked, gzip\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: chunked, chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: chunked-x\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: x chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: \x0bchunked\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: chunked\x00\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding:\x0bchunked\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: "chunked"\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: chunked;a=b\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: \r\n chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding\r\n : chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding : chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-\xadEncoding: chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
  post('Transfer-Encoding: ch\u00fcnked\r\n', `0\r\n\r\n${SMUGGLED}`),
  `POST /first HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  // Line endings.
  `GET /first HTTP/1.1\n${HOST}\r\n${SMUGGLED}`,
  `GET /first HTTP/1.1\r\nHost: a.example\n\n${SMUGGLED}`,
  `GET /first HTTP/1.1\rHost: a.example\r\r${SMUGGLED}`,
  get('X: y\r\n\n', SMUGGLED),
  get('X: a\r\n\tb\r\n'),
  `\rGET /first HTTP/1.1\r\n${HOST}\r\n`,
  `\r\n\nGET /first HTTP/1.1\r\n${HOST}\r\n`,
  `\nGET /first HTTP/1.1\r\n${HOST}\r\n`,
  // Hosts.
  'GET /first HTTP/1.1\r\n\r\n',
  `GET /first HTTP/1.1\r\n${HOST}Host: b.example\r\n\r\n`,
  'GET /first HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n',
  'GET /first HTTP/1.1\r\nHost: a.example b.example\r\n\r\n',
  'GET /first HTTP/1.1\r\nHost: a.example@b.example\r\n\r\n',
  'GET /first HTTP/1.1\r\nHost: a.example/b\r\n\r\n',
  'GET /first HTTP/1.1\r\nHost:\r\n\r\n',
  'GET http://b.example/first HTTP/1.1\r\nHost: a.example\r\n\r\n',
  'GET http://a.example@b.example/first HTTP/1.1\r\nHost: a.example\r\n\r\n',
  'GET https://a.example/first HTTP/1.1\r\nHost: a.example\r\n\r\n',
  // Request lines.
  `GET /first#frag HTTP/1.1\r\n${HOST}\r\n`,
  `GET /first HTTP/1.1 HTTP/1.1\r\n${HOST}\r\n`,
  `GET /first\tHTTP/1.1\r\n${HOST}\r\n`,
  `GET /a\x00b HTTP/1.1\r\n${HOST}\r\n`,
  `GET /first HTTP/2.0\r\n${HOST}\r\n`,
  `GET /first HTTP/1.10\r\n${HOST}\r\n`,
  `GET /first\r\n${HOST}\r\n`,
  `GET\x0b/first HTTP/1.1\r\n${HOST}\r\n`,
  'CONNECT b.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n',
  // Not the preface of HTTP/2, which has no fields.
  `PRI * HTTP/2.0\r\n${HOST}\r\nSM\r\n\r\n`,
  `GET * HTTP/1.1\r\n${HOST}\r\n`,
  // Invalid WebSocket upgrades.
  get('Connection: Upgrade\r\nUpgrade: websocket\r\n', SMUGGLED),
  get('Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: short\r\n', SMUGGLED),
  post(
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 5\r\n',
    `hello${SMUGGLED}`,
  ),
  get('Expect: 200-ok\r\n'),
]

const chunks = (body: string) => post('Transfer-Encoding: chunked\r\n', body)

/** Started at the upstream but never completed there: the body is malformed. */
const aborted: string[] = [
  chunks(`5\r\nhello\r\nX\r\n\r\n${SMUGGLED}`),
  chunks(`5\nhello\n0\n\n${SMUGGLED}`),
  chunks(`5;a\nhello\r\n0\r\n\r\n${SMUGGLED}`),
  chunks(`0x5\r\nhello\r\n0\r\n\r\n${SMUGGLED}`),
  chunks(`+5\r\nhello\r\n0\r\n\r\n${SMUGGLED}`),
  chunks(`5 \r\nhello\r\n0\r\n\r\n${SMUGGLED}`),
  chunks(`\r\n5\r\nhello\r\n0\r\n\r\n${SMUGGLED}`),
  chunks(`5\r\nhelloo\r\n0\r\n\r\n${SMUGGLED}`),
  chunks(`100000005\r\nhello\r\n0\r\n\r\n${SMUGGLED}`),
  chunks(`0\r\nX\r\n\r\n${SMUGGLED}`),
  chunks(`0\r\n X: a\r\n\r\n${SMUGGLED}`),
  chunks(`0\r\nX: a\nY: b\r\n\r\n${SMUGGLED}`),
  chunks(`5\r\nhello\r\r\n0\r\n\r\n${SMUGGLED}`),
  chunks(`-1\r\n${SMUGGLED}`),
]

const forwarded: Payload[] = [
  { bytes: get(''), forwardedRequests: 1 },
  { bytes: get('', NEXT), forwardedRequests: 2 },
  { bytes: get('Content-Length: 0\r\n', NEXT), forwardedRequests: 2 },
  { bytes: post('Content-Length: 5\r\n', `hello${NEXT}`), forwardedRequests: 2 },
  { bytes: post(`Content-Length: ${SMUGGLED.length}\r\n`, SMUGGLED), forwardedRequests: 1 },
  { bytes: post('content-LENGTH: 0005\r\n', `hello${NEXT}`), forwardedRequests: 2 },
  { bytes: chunks(`5\r\nhello\r\n0\r\n\r\n${NEXT}`), forwardedRequests: 2 },
  { bytes: chunks(`5;x="\r\nhello\r\n0\r\n\r\n${NEXT}`), forwardedRequests: 2 },
  {
    bytes: chunks(`${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n${NEXT}`),
    forwardedRequests: 2,
  },
  { bytes: chunks(`0\r\nX-Trailer: 1\r\nContent-Length: 44\r\n\r\n${NEXT}`), forwardedRequests: 2 },
  { bytes: chunks(`0\r\nTransfer-Encoding: chunked\r\n\r\n${NEXT}`), forwardedRequests: 2 },
  { bytes: post('Transfer-Encoding: CHUNKED\r\n', `0\r\n\r\n${NEXT}`), forwardedRequests: 2 },
  { bytes: post('Content_Length: 44\r\nContent-Length: 0\r\n', NEXT), forwardedRequests: 2 },
  {
    bytes: post('Transfer_Encoding: chunked\r\nContent-Length: 5\r\n', `hello${NEXT}`),
    forwardedRequests: 2,
  },
  {
    bytes: post(`Connection: Content-Length\r\nContent-Length: ${SMUGGLED.length}\r\n`, SMUGGLED),
    forwardedRequests: 1,
  },
  {
    bytes: post('Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${NEXT}`),
    forwardedRequests: 2,
  },
  { bytes: get('Connection: Host\r\n', NEXT), forwardedRequests: 2 },
  {
    bytes: get('Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAA\r\n', NEXT),
    forwardedRequests: 2,
  },
  { bytes: get('Connection: close\r\n', SMUGGLED), forwardedRequests: 1 },
  { bytes: `GET http://a.example/first HTTP/1.1\r\n${HOST}\r\n`, forwardedRequests: 1 },
  { bytes: `\r\nGET /first HTTP/1.1\r\n${HOST}\r\n\r\n\r\n${NEXT}`, forwardedRequests: 2 },
  { bytes: `OPTIONS * HTTP/1.1\r\n${HOST}\r\n${NEXT}`, forwardedRequests: 2 },
  { bytes: `GET /first HTTP/1.0\r\n${HOST}\r\n${SMUGGLED}`, forwardedRequests: 1 },
  { bytes: 'GET /first HTTP/1.1\r\nHost: A.EXAMPLE.:80\r\n\r\n', forwardedRequests: 1 },
  { bytes: get('X: \x80\xff\r\n', NEXT), forwardedRequests: 2 },
  { bytes: post('Expect: 100-continue\r\nContent-Length: 5\r\n', `hello${NEXT}`), forwardedRequests: 2 },
]

/** Hand-written request smuggling attempts. */
export const payloads: readonly Payload[] = [
  ...rejected.map((bytes): Payload => ({ bytes, forwardedRequests: 0 })),
  ...aborted.map((bytes): Payload => ({ bytes, forwardedRequests: 0 })),
  ...forwarded,
]
