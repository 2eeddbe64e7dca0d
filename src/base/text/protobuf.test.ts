import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  bytesOf,
  encodeBytes,
  encodeText,
  encodeVarint,
  integerOf,
  MalformedMessage,
  readFields,
  textOf,
} from './protobuf.ts'

const fieldsOf = (hex: string) => [...readFields(Buffer.from(hex.replaceAll(' ', ''), 'hex'))]

// The examples of the documentation of the format: 150 in field 1, "testing" in field 2, a message with 150 in field 3.
const NUMBER = '08 96 01'
const TEXT = '12 07 74 65 73 74 69 6e 67'
const NESTED = '1a 03 08 96 01'

test('fields are read with their numbers, texts and messages', () => {
  const [number, text, nested] = fieldsOf(`${NUMBER} ${TEXT} ${NESTED}`)

  assert.deepEqual([number?.number, number && integerOf(number)], [1, 150n])
  assert.deepEqual([text?.number, text && textOf(text)], [2, 'testing'])
  const [inner] = readFields(bytesOf(nested!))
  assert.equal(integerOf(inner!), 150n)
})

test('what is written is read as the same', () => {
  const written = Buffer.concat([
    encodeText(2, 'Grüße'),
    encodeText(3, ''),
    encodeBytes(16, Buffer.alloc(300)),
  ])

  const [text, bytes, another] = [...readFields(written)]

  assert.equal(textOf(text!), 'Grüße')
  assert.deepEqual([bytes?.number, bytesOf(bytes!).length, another], [16, 300, undefined])
  for (const value of [0, 1, 127, 128, 16_383, 16_384, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
    const [field] = readFields(Buffer.concat([Buffer.from([0x08]), encodeVarint(value)]))
    assert.equal(integerOf(field!), BigInt(value))
  }
})

test('fields of a fixed size are skipped over', () => {
  const fields = fieldsOf(`0d 00 00 00 00  11 00 00 00 00 00 00 00 00 ${TEXT}`)

  assert.deepEqual(
    fields.map(({ number }) => number),
    [1, 2, 2],
  )
})

for (const [name, hex] of [
  ['a number that goes on after the message', '08 96'],
  ['a number of more than ten bytes', '08 ff ff ff ff ff ff ff ff ff ff 01'],
  ['a text that is longer than the message', '12 08 74 65 73 74'],
  ['a length that no message can have', '12 ff ff ff ff ff ff ff ff 7f'],
  ['field number 0', '00 01'],
  ['a field number beyond the largest', 'f8 ff ff ff ff 7f 01'],
  ['a group', '0b 0c'],
  ['half of a fixed number', '0d 00 00'],
] as const)
  test(`${name} is malformed`, () => {
    assert.throws(() => fieldsOf(hex), MalformedMessage)
  })

test('a field of another type than expected is malformed', () => {
  const [number, text, invalid, fixed] = fieldsOf(`${NUMBER} ${TEXT} 12 01 ff 0d 00 00 00 00`)

  assert.throws(() => textOf(number!), MalformedMessage)
  assert.throws(() => integerOf(text!), MalformedMessage)
  assert.throws(() => textOf(invalid!), MalformedMessage)
  assert.throws(() => bytesOf(fixed!), MalformedMessage)
})
