import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFilesLimit, placesFor } from './open-files.ts'

test('visitors and callers leave half of the descriptors for everything else', async () => {
  for (const limit of [320, 1024, 4096, 65_536, 1_048_576]) {
    const { visitors, calls } = placesFor(limit)
    // HTTP, HTTPS, and all TCP ports together.
    assert.ok(3 * visitors + calls <= limit / 2, `${visitors} and ${calls} of ${limit}`)
    assert.ok(visitors >= 32 && visitors <= 16_384)
  }
  assert.ok((await openFilesLimit()) > 0)
})
