import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readPolicy } from '../../src/policy/index.ts'
import { gallery } from '../../src/web/dashboard/policy/gallery.ts'

test('every policy of the gallery is valid where it can be attached', () => {
  for (const { kinds, text } of gallery)
    for (const kind of kinds) readPolicy(text, { kind, protocol: kind === 'edge' ? 'tcp' : 'https' })
  assert.deepEqual([...new Set(gallery.flatMap(({ kinds }) => kinds))].toSorted(), ['cloud', 'edge', 'route'])
})
