import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EdgeError } from '../errors.ts'
import {
  MAX_FIELDS,
  MAX_HEAD_BYTES,
  MAX_TARGET_BYTES,
  parseRequestHead,
  type RequestHead,
} from './request-head.ts'

function parse(text: string, scheme: 'http' | 'https' = 'http'): RequestHead | EdgeError {
  return parseRequestHead(text, scheme)
}

function assertAccepted(text: string, scheme: 'http' | 'https' = 'http'): RequestHead {
  const head = parse(text, scheme)
  assert.ok(!(head instanceof EdgeError), `${JSON.stringify(text)} was rejected: ${(head as EdgeError).text}`)
  return head
}

function assertRejected(status: number, text: string, scheme: 'http' | 'https' = 'http'): void {
  const head = parse(text, scheme)
  assert.ok(head instanceof EdgeError, `${JSON.stringify(text)} was accepted`)
  assert.equal(head.status, status, JSON.stringify(text))
}

test('an ordinary head is parsed', () => {
  const head = assertAccepted(
    'POST /a?b HTTP/1.1\r\nHost: Ex.Example.:8080\r\nContent-Length: 5\r\nX-A:  b \r\nCookie: c\r\n\r\n',
  )

  assert.equal(head.method, 'POST')
  assert.equal(head.target, '/a?b')
  assert.equal(head.host, 'ex.example')
  assert.equal(head.authority, 'ex.example:8080')
  assert.equal(head.framing.contentLength, 5)
  assert.equal(head.framing.fieldLines, 'X-A:  b \r\nCookie: c\r\n')
})

test('malformed request lines are rejected', () => {
  const lines: [number, string][] = [
    [400, 'GET  / HTTP/1.1'],
    [400, 'GET /  HTTP/1.1'],
    [400, ' GET / HTTP/1.1'],
    [400, 'GET\t/ HTTP/1.1'],
    [400, 'GET / HTTP/1.1 '],
    [400, 'GET /'],
    [400, 'GET / HTTP/1.1x'],
    [400, 'GET / http/1.1'],
    [400, 'GET /a b HTTP/1.1'],
    [400, 'GET /a#b HTTP/1.1'],
    [400, 'GET /a\u0000 HTTP/1.1'],
    [400, 'GET /a\u007f HTTP/1.1'],
    [400, 'G(T / HTTP/1.1'],
    [400, 'GET a HTTP/1.1'],
    [400, 'GET * HTTP/1.1'],
    [400, 'GET  HTTP/1.1'],
    [400, 'GET ?a HTTP/1.1'],
    [400, 'GET ftp://h.example/ HTTP/1.1'],
    [400, 'GET https://h.example/ HTTP/1.1'],
    [400, 'GET http://other.example/ HTTP/1.1'],
    [400, 'GET http://user@h.example/ HTTP/1.1'],
    [400, 'GET http:///a HTTP/1.1'],
    [400, 'GET http://h.example:99999/ HTTP/1.1'],
    [505, 'GET / HTTP/2.0'],
    [505, 'GET / HTTP/1.2'],
    [505, 'GET / HTTP/0.9'],
    [505, 'PRI * HTTP/2.0'],
    [405, 'CONNECT h.example:443 HTTP/1.1'],
    [405, 'CONNECT / HTTP/1.1'],
    [405, 'CONNECT /a?b HTTP/1.1'],
    [405, 'CONNECT http://h.example/ HTTP/1.1'],
    [405, 'CONNECT * HTTP/1.1'],
    [400, `${'M'.repeat(33)} / HTTP/1.1`],
  ]
  for (const [status, line] of lines) assertRejected(status, `${line}\r\nHost: h.example\r\n\r\n`)
  assertRejected(400, '\r\nGET / HTTP/1.1\r\nHost: h.example\r\n\r\n')
})

test('an absolute target that agrees becomes a path', () => {
  const target = (line: string, scheme: 'http' | 'https' = 'http') =>
    assertAccepted(`${line} HTTP/1.1\r\nHost: h.example\r\n\r\n`, scheme).target

  assert.equal(target('GET http://H.example/a?b'), '/a?b')
  assert.equal(target('GET http://h.example'), '/')
  assert.equal(target('GET http://h.example.:80?q'), '/?q')
  assert.equal(target('GET HTTPS://h.example/x', 'https'), '/x')
  assert.equal(target('OPTIONS *'), '*')
})

test('ambiguous field lines are rejected', () => {
  const fields = [
    'Host: h.example\r\nX: a\r\n b',
    'Host: h.example\r\nX: a\r\n\tb',
    'Host : h.example',
    'Host: h.example\r\nX : a',
    'Host: h.example\r\n: a',
    'Host: h.example\r\nX',
    'Host: h.example\r\nX: a\nY: b',
    'Host: h.example\r\nX: a\rY: b',
    'Host: h.example\r\nX: a\u0000b',
    'Host: h.example\r\nX: a\u0001b',
    'Host: h.example\r\nX: a\u007fb',
    'Host: h.example\r\nX\u0000: a',
    'Host: h.example\r\nX(: a',
    'Host: h.example\r\nX\u00e9: a',
    ' Host: h.example',
    'Host: h.example\r\nContent-Length: +5',
    'Host: h.example\r\nContent-Length: -5',
    'Host: h.example\r\nContent-Length: 5, 5',
    'Host: h.example\r\nContent-Length: 0x5',
    'Host: h.example\r\nContent-Length: 5 5',
    'Host: h.example\r\nContent-Length:',
    'Host: h.example\r\nContent-Length: 1e3',
    'Host: h.example\r\nContent-Length: 9999999999999999',
    'Host: h.example\r\nContent-Length: 5\r\nContent-Length: 5',
    'Host: h.example\r\nContent-Length: 5\r\ncontent-length: 6',
    'Host: h.example\r\nContent-Length: 5\r\nTransfer-Encoding: chunked',
    'Host: h.example\r\nTransfer-Encoding: chunked\r\nContent-Length: 0',
    'Host: h.example\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    'Host: h.example\r\nTransfer-Encoding: gzip, chunked',
    'Host: h.example\r\nTransfer-Encoding: chunked, identity',
    'Host: h.example\r\nTransfer-Encoding: identity',
    'Host: h.example\r\nTransfer-Encoding: xchunked',
    'Host: h.example\r\nTransfer-Encoding: "chunked"',
    'Host: h.example\r\nTransfer-Encoding: chunked;q=1',
    'Host: h.example\r\nTransfer-Encoding:',
    'Host: h.example\r\nHost: h.example',
    'Host: h.example\r\nhost: i.example',
    'X: a',
  ]
  for (const field of fields) assertRejected(400, `POST / HTTP/1.1\r\n${field}\r\n\r\n`)
  assertRejected(400, 'POST / HTTP/1.0\r\nHost: h.example\r\nTransfer-Encoding: chunked\r\n\r\n')
})

test('a host has one interpretation or is rejected', () => {
  const good: [string, string][] = [
    ['h.example', 'h.example'],
    ['H.EXAMPLE', 'h.example'],
    ['h.example.', 'h.example'],
    ['h.example:8080', 'h.example'],
    ['h.example:', 'h.example'],
    ['h.example.:443', 'h.example'],
    ['a_b.example', 'a_b.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['127.0.0.1', '127.0.0.1'],
    ['[::1]:80', '[::1]'],
    ['h', 'h'],
  ]
  for (const [spelling, host] of good) {
    assert.equal(assertAccepted(`GET / HTTP/1.1\r\nHost: ${spelling}\r\n\r\n`).host, host, spelling)
  }
  const bad = [
    '',
    '.',
    '..',
    'h..example',
    '.h.example',
    'h.example..',
    'h.example:0',
    'h.example:65536',
    'h.example:8o',
    'h.example:80:80',
    'h.example:+80',
    'a b',
    'user@h.example',
    'h.example/path',
    'h.example?q',
    'h.example#f',
    'h.example,i.example',
    'h.example;a',
    'h.example\\i',
    'h%2eexample',
    '*.example',
    '-h.example',
    'h-.example',
    'h\u00e9.example',
    '[::1',
    '::1',
    '[::1]x',
    '[g::1]',
    '"h.example"',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(127)}ab`,
    'h.example\u0000',
  ]
  for (const spelling of bad) assertRejected(400, `GET / HTTP/1.1\r\nHost: ${spelling}\r\n\r\n`)
})

test('hop-by-hop fields and fields of the edge are dropped, in every spelling', () => {
  const dropped = [
    'Connection: keep-alive',
    'Keep-Alive: timeout=5',
    'Proxy-Connection: keep-alive',
    'Proxy-Authorization: x',
    'Proxy-Anything: x',
    'TE: gzip',
    'Trailer: X',
    'Upgrade: h2c',
    'HTTP2-Settings: x',
    'X-Forwarded-For: 1.1.1.1',
    'x-forwarded-for: 1.1.1.1',
    'X_Forwarded_For: 1.1.1.1',
    'X-Forwarded_For: 1.1.1.1',
    'X.Forwarded.For: 1.1.1.1',
    'X-Forwarded-Proto: https',
    'X-Forwarded-Host: h',
    'X-Forwarded-Port: 1',
    'X-FORWARDED-ANYTHING: 1',
    'Forwarded: for=1.1.1.1',
    'forwarded: for=1.1.1.1',
    'adit-auth-user-email: me@x',
    'Adit-Mtls-Subject-Cn: me',
    'ADIT_AUTH_USER_EMAIL: me',
    'ngrok-auth-user-id: me',
    'Ngrok_Auth_User_Id: me',
    'ngrok-mtls-serial-number: 1',
    'Content_Length: 5',
    'Transfer_Encoding: chunked',
    'Transfer.Encoding: chunked',
  ]
  for (const line of dropped) {
    const { framing } = assertAccepted(
      `GET / HTTP/1.1\r\nHost: h.example\r\nX-A: 1\r\n${line}\r\nX-B: 2\r\n\r\n`,
    )
    assert.equal(framing.fieldLines, 'X-A: 1\r\nX-B: 2\r\n', line)
    assert.equal(framing.contentLength, -1)
    assert.equal(framing.chunked, false)
  }
})

test('ordinary fields are forwarded unchanged, unusual names included', () => {
  const lines =
    'Accept: */*\r\nAuthorization: Basic x\r\nUser-Agent: \r\nX_Api_Key: k\r\nX-Forward: 1\r\n' +
    'Content-Type: text/plain; charset=\u00e9\r\nngrok-skip-browser-warning: 1\r\nAdit: 1\r\nA: b\r\n'

  assert.equal(assertAccepted(`GET / HTTP/1.1\r\nHost: h.example\r\n${lines}\r\n`).framing.fieldLines, lines)
})

test('fields named in Connection are dropped, but special fields still count', () => {
  const { framing } = assertAccepted(
    'GET / HTTP/1.1\r\nX-Hop: 1\r\nHost: h.example\r\nX-End: 2\r\n' +
      'Connection: close, x-hop, host, content-length\r\nContent-Length: 3\r\nX-HOP: 3\r\n\r\n',
  )

  assert.equal(framing.fieldLines, 'X-End: 2\r\n')
  assert.equal(framing.contentLength, 3)
  assert.equal(framing.close, true)
  assert.equal(framing.host, 'h.example')
})

test('limits hold to the byte', () => {
  const target = (length: number) => `GET /${'a'.repeat(length - 1)} HTTP/1.1\r\nHost: h.example\r\n\r\n`
  const fields = (count: number) => `GET / HTTP/1.1\r\nHost: h.example\r\n${'A: b\r\n'.repeat(count - 1)}\r\n`

  assertAccepted(target(MAX_TARGET_BYTES))
  assertRejected(414, target(MAX_TARGET_BYTES + 1))
  assertAccepted(fields(MAX_FIELDS))
  assertRejected(431, fields(MAX_FIELDS + 1))
  assert.equal(MAX_HEAD_BYTES, 16 * 1024)
})
