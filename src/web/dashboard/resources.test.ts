import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resourceOfPrefix } from '../../resources/index.ts'
import { PAGE_ICONS } from './page-icons.ts'
import { pages } from './pages.ts'
import { allows, listKeyOf, resourcePages } from './resources.ts'

test('pages use the prefix, path and list key that their resource declares', () => {
  for (const page of resourcePages) {
    const resource = resourceOfPrefix(page.prefix)
    assert.deepEqual([page.path, listKeyOf(page)], [resource?.path, resource?.listKey], page.prefix)
    for (const operation of ['create', 'update', 'delete'] as const)
      assert.equal(allows(page, operation), resource?.operations.includes(operation), page.prefix)
  }
  assert.ok(resourcePages.length > 10)
})

test('every page of the navigation has an icon, and every tab a page', () => {
  const shown = pages.filter(({ section, below }) => section !== undefined || below !== undefined)
  assert.deepEqual(
    shown.filter(({ path }) => !PAGE_ICONS[path]).map(({ path }) => path),
    [],
  )
  const parents = new Set(shown.flatMap(({ below }) => below ?? []))
  for (const parent of parents)
    assert.ok(
      shown.some(({ path, section }) => path === parent && section),
      parent,
    )
})
