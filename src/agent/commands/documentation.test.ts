import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { appendCode, DOCUMENTED_CODES, documentationUrl } from './documentation.ts'

test('the documentation page explains every code and no other', () => {
  const address = new URL(documentationUrl('ERR_NGROK_107') ?? '')
  const page = readFileSync(address, 'utf8')

  const explained = [...page.matchAll(/^### (ERR_NGROK_\d+)\n\n(\S.*\S)$/gm)].map(([, code]) => code)

  assert.equal(address.hash, '#err_ngrok_107')
  assert.deepEqual(explained.toSorted(), [...DOCUMENTED_CODES].toSorted())
})

test('an undocumented code is printed without a URL', () => {
  assert.equal(appendCode('No.', 'ERR_NGROK_99999'), 'No.\n\nERR_NGROK_99999')
  assert.equal(appendCode('No.', undefined), 'No.')
})
