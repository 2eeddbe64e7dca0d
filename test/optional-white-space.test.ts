import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseHead, parseHeaderFields } from '../src/agent/http1.ts'
import { negotiateCoding } from '../src/base/http/accepted-coding.ts'
import { trimOws } from '../src/base/http/optional-white-space.ts'
import { readCookie } from '../src/dashboard/sign-in/cookie.ts'
import { EdgeError } from '../src/edge/errors.ts'
import { HeaderFields } from '../src/edge/message/fields.ts'
import { parseRequestHead } from '../src/edge/message/request-head.ts'
import { parseResponseHead } from '../src/edge/message/response-head.ts'

const root = join(import.meta.dirname, '..')

/** White space in Unicode but not in HTTP; it may occur in a field value. */
const NBSP = '\xa0'

const request = (field: string) =>
  parseRequestHead(`POST / HTTP/1.1\r\nHost: h.example\r\n${field}\r\n\r\n`, 'http')
const response = (field: string) => parseResponseHead(`HTTP/1.1 200 OK\r\n${field}\r\n\r\n`)
const encodeHead = (field: string) => Buffer.from(`GET / HTTP/1.1\r\n${field}\r\n\r\n`, 'latin1')

test('only SP and HTAB around a value are trimmed', () => {
  assert.equal(trimOws(' \t a b\t '), 'a b')
  assert.equal(trimOws(' \t '), '')
  for (const character of [NBSP, '\v', '\f', '\n', '\r', '\u2003', '\ufeff'])
    assert.equal(trimOws(` ${character}a${character}\t`), `${character}a${character}`)
})

test('a framing field or Host with other white space around its value is rejected', () => {
  for (const [before, after] of [
    ['', NBSP],
    [NBSP, ''],
    [` ${NBSP}`, ''],
    ['', `${NBSP} `],
  ]) {
    for (const field of [
      `Transfer-Encoding: ${before}chunked${after}`,
      `Content-Length: ${before}5${after}`,
    ]) {
      assert.ok(request(field) instanceof EdgeError, field)
      assert.equal(typeof response(field), 'string', field)
    }
    const host = `GET / HTTP/1.1\r\nHost: ${before}h.example${after}\r\n\r\n`
    assert.ok(parseRequestHead(host, 'http') instanceof EdgeError, host)
  }
})

test('other white space is part of the value: connection options, codings, cookies, heads in the agent', () => {
  const head = request(`Connection: close${NBSP}\r\nTE: trailers${NBSP}`)
  assert.ok(!(head instanceof EdgeError))
  assert.deepEqual([head.framing.close, head.framing.acceptsTrailers], [false, false])
  assert.equal(new HeaderFields(`X: ${NBSP}a${NBSP} \r\n`).get('x'), `${NBSP}a${NBSP}`)
  assert.equal(negotiateCoding(`gzip${NBSP}`, ['gzip']), undefined)
  assert.equal(readCookie(`${NBSP}adit_session=a`, 'adit_session'), undefined)
  assert.equal(parseHead(encodeHead(`Transfer-Encoding: chunked${NBSP}`)).chunked, false)
  assert.equal(parseHead(encodeHead(`Transfer-Encoding: gzip${NBSP}chunked`)).chunked, false)
  assert.equal(parseHead(encodeHead(`Content-Length: 5${NBSP}`)).contentLength, Number.NaN)
  assert.deepEqual(parseHeaderFields(encodeHead(`X: a${NBSP}`)), [['X', `a${NBSP}`]])
})

test('no code that reads HTTP fields uses String.trim', async () => {
  const violations: string[] = []
  // XML defines its own white space, and settings are not HTTP fields.
  const exempt = /\.test\.ts$|\/testing\/|login\/(saml|xml|oauth)|inspector\/capture-store/
  for await (const file of glob(
    [
      'src/edge/**/*.ts',
      'src/agent/http1.ts',
      'src/agent/{forward,inspector}/*.ts',
      'src/dashboard/sign-in/cookie.ts',
    ],
    { cwd: root },
  )) {
    if (exempt.test(file)) continue
    const source = await readFile(join(root, file), 'utf8')
    if (/\.trim(Start|End)?\(\)/.test(source)) violations.push(file)
  }

  assert.deepEqual(violations, [])
})
