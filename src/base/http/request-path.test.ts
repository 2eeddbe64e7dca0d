import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRequestPath } from './request-path.ts'

test('a path is read decoded, with one slash for several, and its escapes are normal', () => {
  const paths: Record<string, readonly [decoded: string, escaped: string]> = {
    '/': ['/', '/'],
    '*': ['*', '*'],
    '/a/b.c/~d/': ['/a/b.c/~d/', '/a/b.c/~d/'],
    '/.well-known/...': ['/.well-known/...', '/.well-known/...'],
    '/%61dmin': ['/admin', '/admin'],
    '/%41%5f%7E': ['/A_~', '/A_~'],
    '/%2561': ['/%61', '/%2561'],
    '/a//b///c': ['/a/b/c', '/a//b///c'],
    '/a%2fb': ['/a/b', '/a%2Fb'],
    '/a%2F%2fb': ['/a/b', '/a%2F%2Fb'],
    '/caf%c3%a9': ['/café', '/caf%C3%A9'],
    '/caf\xc3\xa9': ['/café', '/caf%C3%A9'],
    '/a%20b%3f%23%3B': ['/a b?#;', '/a%20b%3F%23%3B'],
    '/{a|"b"}': ['/{a|"b"}', '/%7Ba%7C%22b%22%7D'],
    '/@scope%2fname': ['/@scope/name', '/@scope%2Fname'],
    '/a+b=c&d': ['/a+b=c&d', '/a+b=c&d'],
  }

  for (const [path, [decoded, escaped]] of Object.entries(paths)) {
    assert.deepEqual(readRequestPath(path), { decoded, escaped }, path)
    assert.deepEqual(readRequestPath(escaped), { decoded, escaped }, `again: ${escaped}`)
  }
})

test('a path that upstreams read differently is not read', () => {
  const dots = ['/.', '/..', '/./a', '/x/../a', '/%2e/a', '/x/%2E%2e/a', '/a/.%2e', '/a%2f..', '/a%2f..%2fb']
  const hosts = ['//a', '//', '/%2fa', '/%2F', '/\\a']
  const escapes = [
    '/a/%',
    '/a/%4',
    '/a/%zz',
    '/%u0061',
    '/%ff',
    '/a/%c0%af',
    '/%ed%a0%80',
    '/\xff',
    '/caf\xe9',
  ]
  const others = [
    '/a\\b',
    '/a%5cb',
    '/a%5Cb',
    '/a%00',
    '/a%0ab',
    '/a%0D',
    '/a%7f',
    '/a;b/c',
    '/;/a',
    '/..;/a',
  ]

  for (const path of [...dots, ...hosts, ...escapes, ...others])
    assert.equal(readRequestPath(path), undefined, path)
})

test('the longest path is read in linear time', () => {
  const before = process.cpuUsage()
  for (const part of ['/', '%61', '%', '\xe9', '/.', '%2f..', '%c3%a9', '//a']) {
    const path = `/x${part.repeat(8192 / part.length)}`
    for (let round = 0; round < 20; round++) readRequestPath(path)
  }
  const { user } = process.cpuUsage(before)

  assert.ok(user < 2_000_000, `${user} µs for 160 paths`)
})
