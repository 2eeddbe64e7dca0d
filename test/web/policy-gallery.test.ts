import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readPolicy } from '../../src/policy/index.ts'
import { gallery } from '../../src/web/dashboard/policy/gallery.ts'

test('every policy of the gallery is valid at its places', () => {
  for (const { places, text } of gallery)
    for (const place of places) readPolicy(text, { place, protocol: place === 'edge' ? 'tcp' : 'https' })
  assert.deepEqual([...new Set(gallery.flatMap(({ places }) => places))].toSorted(), [
    'cloud',
    'edge',
    'route',
  ])
})
