import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Endings } from './revocations.ts'

const FAR = 1_000_000

test('an ending covers what began before, not what begins after', () => {
  const endings = new Endings()

  endings.add({ place: 'place', subject: 'ada', at: 50_500, until: FAR }, 0)

  assert.deepEqual(
    [49, 50, 51].map((since) => endings.isOver('place', 'ada', since)),
    [true, true, false],
  )
  assert.equal(endings.isOver('place', 'bob', 1), false)
  assert.equal(endings.isOver('other', 'ada', 1), false)
})

test('an older ending that is heard later takes nothing back', () => {
  const endings = new Endings()

  endings.add({ place: 'place', subject: 'ada', at: 50_000, until: FAR }, 0)
  endings.add({ place: 'place', subject: 'ada', at: 20_000, until: 60_000 }, 0)
  endings.sweep(70_000)

  assert.equal(endings.isOver('place', 'ada', 50), true)
})

test('what is over by its age alone is not kept', () => {
  const endings = new Endings()

  endings.add({ place: 'place', subject: 'a', at: 1_000, until: 5_000 }, 0)
  endings.add({ place: 'place', subject: 'b', at: 1_000, until: 5_000 }, 5_000)
  assert.equal(endings.size, 1)
  endings.sweep(5_000)

  assert.equal(endings.size, 0)
})

test('it stays within its bound, and nobody who signed out comes back by that', () => {
  const endings = new Endings(100)
  endings.add({ place: 'small', subject: 'ada', at: 1_000, until: FAR }, 0)

  for (let at = 1; at <= 1_000; at++) {
    endings.add({ place: 'busy', subject: `s${at}`, at: at * 1000, until: FAR }, 0)
    assert.ok(endings.size <= 100)
  }

  for (let at = 1; at <= 1_000; at++) assert.equal(endings.isOver('busy', `s${at}`, at), true, `s${at}`)
  assert.equal(endings.isOver('busy', 'somebody', 1), true, 'old sessions of the busy place begin anew')
  assert.equal(endings.isOver('busy', 'somebody', 1_001), false)
  assert.equal(endings.isOver('small', 'ada', 1), true)
  assert.equal(endings.isOver('small', 'bob', 1), false, 'other places do not pay for it')
})
