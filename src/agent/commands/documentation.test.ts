import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { DOCUMENTED, documentationOf, withCode } from './documentation.ts'

test('every code is explained where its address leads, and no other is', () => {
  const address = new URL(documentationOf('ERR_NGROK_107') ?? '')
  const page = readFileSync(address, 'utf8')

  const explained = [...page.matchAll(/^### (ERR_NGROK_\d+)\n\n(\S.*\S)$/gm)].map(([, code]) => code)

  assert.equal(address.hash, '#err_ngrok_107')
  assert.deepEqual(explained.toSorted(), [...DOCUMENTED].toSorted())
})

test('a code of another server is told without an address that leads nowhere', () => {
  assert.equal(withCode('No.', 'ERR_NGROK_99999'), 'No.\n\nERR_NGROK_99999')
  assert.equal(withCode('No.', undefined), 'No.')
})
