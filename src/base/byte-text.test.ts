import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteText } from './byte-text.ts'

test('many strings become one text, whatever the expected size', () => {
  const words = Array.from({ length: 20_000 }, (_, index) => `${index} héllo ☃ 🜂\n`)
  for (const expected of [0, 10, 10_000_000]) {
    const text = new ByteText(expected)
    for (const word of words) text.append(word)
    assert.equal(Buffer.from(text.bytes).toString(), words.join(''))
    text.clear()
    text.append('anew')
    assert.equal(Buffer.from(text.bytes).toString(), 'anew')
  }
})

test('an empty text has no bytes', () => {
  assert.equal(new ByteText(100).bytes.length, 0)
})
