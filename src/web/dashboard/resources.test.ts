import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resourceOfPrefix } from '../../resources/index.ts'
import { PAGE_ICONS } from './page-icons.ts'
import { pages } from './pages.ts'
import { listKeyOf, resourcePages } from './resources.ts'

test('pages use the prefix, path and list key that their resource declares', () => {
  for (const page of resourcePages) {
    const resource = resourceOfPrefix(page.prefix)
    assert.deepEqual([page.path, listKeyOf(page)], [resource?.path, resource?.listKey], page.prefix)
  }
  assert.ok(resourcePages.length > 10)
})

test('every page of the navigation has an icon', () => {
  const shown = pages.filter(({ section }) => section !== undefined)
  assert.deepEqual(
    shown.filter(({ path }) => !PAGE_ICONS[path]).map(({ path }) => path),
    [],
  )
})
