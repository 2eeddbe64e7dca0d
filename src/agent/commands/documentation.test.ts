import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appendCode } from './documentation.ts'

test('a code is followed by the command that explains it', () => {
  assert.equal(appendCode('No.', 'ERR_ADIT_107'), 'No.\n\nERR_ADIT_107\nadit help ERR_ADIT_107')
  assert.equal(appendCode('No.', undefined), 'No.')
})
