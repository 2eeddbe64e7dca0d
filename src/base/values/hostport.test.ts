import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinHostPort, parseHostPort, parsePort, publicUrl } from './hostport.ts'

test('a host with or without a port has one reading', () => {
  assert.deepEqual(parseHostPort('A.Example.:8080'), { host: 'a.example', port: 8080 })
  assert.deepEqual(parseHostPort('a.example:'), { host: 'a.example', port: undefined })
  assert.deepEqual(parseHostPort('[::1]:443'), { host: '[::1]', port: 443 })
  assert.deepEqual(parseHostPort('[::ffff:10.0.0.1]'), { host: '[::ffff:10.0.0.1]', port: undefined })
  for (const text of [
    '',
    ':80',
    'a:b',
    'a:80:90',
    '[::1',
    '::1',
    'a b',
    'a..b',
    '-a',
    'a-.b',
    'a@b',
    'ü.example',
  ]) {
    assert.equal(parseHostPort(text), undefined, text)
  }
})

test('ports are plain numbers from 1 to 65535', () => {
  assert.equal(parsePort('65535'), 65535)
  for (const text of ['0', '65536', '-1', '1e3', ' 80', '080000', ''])
    assert.equal(parsePort(text), undefined, text)
})

test('addresses and URLs are formatted with brackets and without default ports', () => {
  assert.equal(joinHostPort('::1', 80), '[::1]:80')
  assert.equal(joinHostPort('10.0.0.1', 80), '10.0.0.1:80')
  assert.equal(publicUrl('https', 'a.example', 443), 'https://a.example')
  assert.equal(publicUrl('https', 'a.example', 8443), 'https://a.example:8443')
})
