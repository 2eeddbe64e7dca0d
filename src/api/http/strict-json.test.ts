import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseStrictJson } from './strict-json.ts'

test('a body holds at most 20,000 values, however they are nested', () => {
  assert.equal((parseStrictJson(`[${'1,'.repeat(19_999)}1]`) as unknown[]).length, 20_000)
  for (const text of [`[${'1,'.repeat(20_000)}1]`, `[${'{},'.repeat(10_001)}{}]`, '['.repeat(20_001)])
    assert.throws(() => parseStrictJson(text), /more than 20000 values/)
})

test('the content of a string does not count as values', () => {
  const text = '[{,\\"'.repeat(10_000)

  assert.equal(parseStrictJson(JSON.stringify(text)), text)
  for (const open of ['"', '{"a', '"a\\', '["\\"'])
    assert.throws(() => parseStrictJson(open), SyntaxError, open)
})
