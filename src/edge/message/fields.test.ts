import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeaderFields } from './fields.ts'

const LINES = 'Accept: a\r\nX-Two:  1 \r\nx-two: 2\r\nEmpty:\r\n'

test('unchanged lines stay identical byte for byte', () => {
  const fields = new HeaderFields(LINES)

  assert.equal(fields.text, LINES)
  assert.equal(fields.get('x-two'), '1')
  assert.deepEqual(fields.getAll('x-two'), ['1', '2'])
  assert.equal(fields.get('empty'), '')
  assert.equal(fields.get('none'), undefined)
  assert.equal(fields.text, LINES)
})

test('fields are added, replaced and removed by case-insensitive name', () => {
  const fields = new HeaderFields(LINES)

  fields.remove('x-two')
  fields.add('X-Three', '3')
  fields.set('ACCEPT', 'b')

  assert.equal(fields.text, 'Empty:\r\nX-Three: 3\r\nACCEPT: b\r\n')

  fields.remove('x-three')
  assert.equal(fields.text, 'Empty:\r\nACCEPT: b\r\n')
})

test('a name or value that would break a line throws', () => {
  const fields = new HeaderFields('')

  for (const [name, value] of [
    ['a b', 'c'],
    ['a', 'b\r\nc: d'],
    ['a', 'b\nc'],
    ['a', 'b\0'],
    ['', 'b'],
    ['a:', 'b'],
  ] as const) {
    assert.throws(() => fields.add(name, value), TypeError)
  }
  assert.equal(fields.text, '')
})
