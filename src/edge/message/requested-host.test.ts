import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRequestedHost } from './requested-host.ts'

test('a host is normalized, and its authority has the port that was sent', () => {
  assert.deepEqual(parseRequestedHost('App.Example.COM.:8080'), {
    host: 'app.example.com',
    authority: 'app.example.com:8080',
  })
  assert.deepEqual(parseRequestedHost('[::1]'), { host: '[::1]', authority: '[::1]' })
})

test('a host that is named again is parsed once', () => {
  const first = parseRequestedHost('again.example.com')

  assert.equal(parseRequestedHost('again.example.com'), first)
})

test('a host that is not valid is rejected each time', () => {
  for (const text of ['a..b', 'a b', 'host:0', 'höst', 'hošt', ''])
    for (let time = 0; time < 2; time++) assert.equal(parseRequestedHost(text), undefined, text)
})

test('thousands of hosts are parsed alike, though few are remembered', () => {
  const first = parseRequestedHost('first.example.com')

  for (let index = 0; index < 5000; index++)
    assert.equal(parseRequestedHost(`h${index}.example.com`)?.host, `h${index}.example.com`)

  assert.notEqual(parseRequestedHost('first.example.com'), first)
  assert.deepEqual(parseRequestedHost('first.example.com'), first)
})
