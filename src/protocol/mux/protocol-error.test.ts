import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { protocolError, protocolErrors } from '../errors.ts'
import { ProtocolError, parseProtocolError } from './protocol-error.ts'

test('an error is formatted with its code on a line of its own, and parsed back', () => {
  const sent = protocolError('name_taken', 'https://a.test')

  const read = parseProtocolError(sent.wireText)

  assert.match(sent.wireText, /^https:\/\/a\.test is already online\..*\n\nERR_NGROK_334\n$/)
  assert.equal(read.message, sent.message)
  assert.equal(read.code, 'ERR_ADIT_334')
})

test('an error without a number is a sentence alone', () => {
  assert.equal(new ProtocolError('No.').text, 'No.')
  assert.equal(parseProtocolError('No.').number, undefined)
  assert.equal(parseProtocolError('').message, 'The server rejected the request without a reason.')
})

test('every number is documented, and every documented number exists', () => {
  const document = readFileSync(new URL('../../../docs/protocol.md', import.meta.url), 'utf8')
  const section = document.slice(document.indexOf('## Rejections'))

  const documented = [...section.matchAll(/^\| (\d+) \|/gm)].map(([, number]) => Number(number))

  const existing = Object.values(protocolErrors).flatMap(({ number }) =>
    number === undefined ? [] : [number],
  )
  assert.deepEqual(
    [...new Set(documented)],
    [...new Set(existing)].toSorted((a, b) => a - b),
  )
})
