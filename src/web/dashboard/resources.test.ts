import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resourceOfPrefix } from '../../resources/index.ts'
import { listKeyOf, resourcePages } from './resources.ts'

test('pages use the prefix, path and list key that their resource declares', () => {
  for (const page of resourcePages) {
    const resource = resourceOfPrefix(page.prefix)
    assert.deepEqual([page.path, listKeyOf(page)], [resource?.path, resource?.listKey], page.prefix)
  }
  assert.ok(resourcePages.length > 10)
})
