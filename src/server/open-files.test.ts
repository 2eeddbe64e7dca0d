import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFilesLimit, placesForVisitors } from './open-files.ts'

test('visitors leave descriptors for everything else', async () => {
  for (const limit of [300, 1024, 4096, 65_536, 1_048_576]) {
    const places = placesForVisitors(limit)
    // There are two listeners.
    assert.ok(2 * places < limit - 100, `${places} of ${limit}`)
    assert.ok(places >= 32 && places <= 16_384)
  }
  assert.ok((await openFilesLimit()) > 0)
})
