import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, mutate, rounds } from '../../../test/support/random.ts'
import { proxyProtocolHeader } from '../../protocol/index.ts'
import { preambleLength } from './preamble.ts'

const HEADERS = ([1, 2] as const).flatMap((version) => [
  proxyProtocolHeader(version, '203.0.113.9:5000', '198.51.100.1:443'),
  proxyProtocolHeader(version, '[2001:db8::1]:5000', '[2001:db8::2]:443'),
  proxyProtocolHeader(version, 'nonsense', 'nonsense'),
])

test('the length of a header is known once it is complete', () => {
  for (const header of HEADERS) {
    const bytes = Buffer.concat([header, Buffer.from('GET / HTTP/1.1\r\n')])

    for (let length = 0; length < header.length; length++) {
      assert.equal(preambleLength(bytes.subarray(0, length)), undefined, `${length} of ${header.length}`)
    }
    assert.equal(preambleLength(bytes), header.length)
  }
})

test('for any input, the length lies within the bytes or there is none', () => {
  const random = createRandom()
  for (const _ of rounds(20_000)) {
    const bytes = mutate(random, random.pick(HEADERS))

    const length = preambleLength(bytes)

    assert.ok(
      length === undefined || length === -1 || (length > 0 && length <= bytes.length),
      `SEED=${random.seed}`,
    )
  }
})
