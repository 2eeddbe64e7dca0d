import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coveringNames, NameIndex } from './name-index.ts'

function indexOf(...names: string[]): NameIndex<string> {
  const index = new NameIndex<string>()
  for (const name of names) index.set(name, name)
  return index
}

test('a name is covered by itself and a wildcard for each domain above it, most specific first', () => {
  assert.deepEqual([...coveringNames('a.b.example')], ['a.b.example', '*.b.example', '*.example'])
  assert.deepEqual([...coveringNames('*.b.example')], ['*.b.example', '*.example'])
  assert.deepEqual([...coveringNames('localhost')], ['localhost'])
})

test('the most specific wildcard wins, and covers names at any depth but not its own domain', () => {
  const index = indexOf('*.example', '*.b.example')

  assert.deepEqual(index.matchWildcard('x.a.b.example'), { value: '*.b.example', domain: 'b.example' })
  assert.deepEqual(index.matchWildcard('b.example'), { value: '*.example', domain: 'example' })
  assert.equal(index.matchWildcard('example'), undefined)
  assert.equal(index.getExact('*.example'), undefined)
})

test('all names that cover a name are found in the order of coveringNames', () => {
  const index = indexOf('*.example', 'a.b.example', '*.b.example', '*.a.b.example', 'b.example')

  assert.deepEqual(index.matchAll('a.b.example'), [...coveringNames('a.b.example')])
  assert.deepEqual(index.matchAll('other.test'), [])
})

test('a name and the wildcard below it are set, read and deleted apart', () => {
  const index = indexOf('b.example', '*.b.example')

  index.delete('b.example')
  assert.deepEqual([index.get('b.example'), index.get('*.b.example')], [undefined, '*.b.example'])
  index.clear()
  assert.deepEqual([index.get('*.b.example'), index.matchWildcard('a.b.example')], [undefined, undefined])
})
