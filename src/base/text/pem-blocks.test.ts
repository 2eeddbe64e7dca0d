import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pemBlocks } from './pem-blocks.ts'

const block = (label: string, body: string) => `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----`

test('blocks are found between other text', () => {
  const [one, two, key] = [block('CERTIFICATE', 'AA'), block('CERTIFICATE', 'BB'), block('PRIVATE KEY', 'CC')]
  const text = `first - one\n${one}\n${key}\ntext${two}\n`

  assert.deepEqual(pemBlocks(text), [one, key, two])
  assert.deepEqual(pemBlocks(text, 'CERTIFICATE'), [one, two])
  assert.deepEqual(pemBlocks('none'), [])
})

test('a block without an END line is still returned', () => {
  const open = '-----BEGIN CERTIFICATE-----\nAA\n'

  assert.deepEqual(pemBlocks(open + block('CERTIFICATE', 'BB'), 'CERTIFICATE'), [
    open,
    block('CERTIFICATE', 'BB'),
  ])
})
