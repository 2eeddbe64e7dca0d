import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UpstreamTarget } from '../contracts/backend.ts'
import { weighted } from './weighted.ts'

/** A weighted backend over children that tests switch on and off. */
function build(weights: Readonly<Record<string, number>>) {
  const online = new Set(Object.keys(weights))
  const targets = Object.fromEntries(
    Object.keys(weights).map((id) => [id, { id } as unknown as UpstreamTarget]),
  )
  const child = (id: string) => ({
    isOnline: () => online.has(id),
    pick: () => targets[id],
    pickNext: (tried: readonly UpstreamTarget[]) => (tried.includes(targets[id]!) ? undefined : targets[id]),
  })
  type Build = Parameters<typeof weighted>
  const balancer = weighted({ backends: weights } as unknown as Build[0], { child } as unknown as Build[1])
  const nameOf = (target: unknown) => (target as { id: string } | undefined)?.id
  return {
    online,
    balancer,
    pick: (count: number) => Array.from({ length: count }, () => nameOf(balancer.pick())),
    next: (...tried: string[]) => nameOf(balancer.pickNext(tried.map((id) => targets[id]!))),
  }
}

test('over the sum of the weights each child gets exactly its part, evenly spread', () => {
  const { pick } = build({ a: 5, b: 1, c: 1 })

  assert.deepEqual(pick(7), ['a', 'a', 'b', 'a', 'c', 'a', 'a'])
  assert.deepEqual(pick(7), ['a', 'a', 'b', 'a', 'c', 'a', 'a'])
})

test('a child of weight 0 gets nothing, also as the last resort', () => {
  const { pick, next, online, balancer } = build({ a: 0, b: 1 })

  assert.deepEqual(pick(3), ['b', 'b', 'b'])
  assert.equal(next('b'), undefined)
  online.delete('b')
  assert.equal(balancer.isOnline(), false)
  assert.deepEqual(pick(1), [undefined])
})

test('the others share the part of a child that is offline', () => {
  const { pick, online, balancer } = build({ a: 2, b: 1, c: 1 })
  online.delete('a')

  assert.equal(balancer.isOnline(), true)
  assert.deepEqual(pick(4), ['b', 'c', 'b', 'c'])
})

test('a child that comes back starts anew and does not catch up on what it missed', () => {
  const { pick, online } = build({ a: 2, b: 1 })
  assert.deepEqual(pick(1), ['a'])
  online.delete('b')
  pick(1)
  online.add('b')

  // With the credit it had when it went offline, `b` would be first.
  assert.deepEqual(pick(3), ['a', 'b', 'a'])
})

test('when the chosen child cannot be reached, the heaviest of those not tried is next', () => {
  const { next } = build({ a: 1, b: 2, c: 3 })

  assert.equal(next('a'), 'c')
  assert.equal(next('a', 'c'), 'b')
  assert.equal(next('a', 'b', 'c'), undefined)
})
