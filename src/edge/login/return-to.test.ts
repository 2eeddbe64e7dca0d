import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sanitizeReturnPath, toLocation } from './return-to.ts'

const ORIGIN = 'https://app.example.com'

/** Known open redirect payloads: prefixes combined with hosts. */
function* payloads(): Generator<string> {
  const hosts = ['evil.example', 'evil.example%2f@app.example.com', '[::1]', '2130706433', 'evil。example']
  const starts = [
    '//',
    '///',
    '////',
    '/\\',
    '/\\/',
    '\\\\',
    '\\/',
    '/\t/',
    '/\n/',
    '/\r/',
    '/%09/',
    '/%2f',
    '/%5c',
    '%2f%2f',
    'https://',
    'http:',
    'https:/',
    'https:///',
    'HTTPS:\\\\',
    'javascript:',
    'data:text/html,',
    'ftp://',
    '@',
    '.',
    '/.//',
    '/..//',
    '/x/..//',
    '/;@',
    '//app.example.com@',
    '//;@',
    '/?next=//',
    '/#//',
    ' //',
    '\u0000//',
    '\u2028//',
    '／／',
  ]
  for (const start of starts) for (const host of hosts) yield `${start}${host}`
}

test('no return path leads to another origin', () => {
  const all = [...payloads()]
  assert.ok(all.length >= 100)

  for (const payload of all) {
    const { origin, username } = new URL(toLocation(ORIGIN, sanitizeReturnPath(payload)), ORIGIN)
    assert.deepEqual([origin, username], [ORIGIN, ''], JSON.stringify(payload))
  }
})

test('a path of the host is kept unchanged', () => {
  for (const path of ['/', '/a/b?c=d&e=%20', '/~x;y=1', '/a//b'])
    assert.equal(toLocation(ORIGIN, sanitizeReturnPath(path)), `${ORIGIN}${path}`)
  assert.equal(sanitizeReturnPath(`/${'x'.repeat(3000)}`), '/')
})
