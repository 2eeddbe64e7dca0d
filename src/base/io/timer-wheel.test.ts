import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadlines, Timed } from './timer-wheel.ts'

class Item extends Timed {
  fired = 0

  onDeadline(): void {
    this.fired++
  }
}

/** A timer that is moved by hand, 100 ms at a time. */
function start() {
  let now = 0
  const deadlines = new Deadlines({ now: () => now, monotonic: () => now }, 100)
  return {
    deadlines,
    pass(ticks: number) {
      for (let n = 0; n < ticks; n++) {
        now += 100
        deadlines.advance()
      }
    },
    /** Time passes while the process sleeps. */
    sleep(milliseconds: number) {
      now += milliseconds
    },
  }
}

test('an item is due once, after its time and not before', () => {
  const { deadlines, pass } = start()
  const item = new Item()

  deadlines.set(item, deadlines.ticks(1000))
  pass(10)
  assert.equal(item.fired, 0)
  pass(1)
  assert.equal(item.fired, 1)
  pass(2000)
  assert.equal(item.fired, 1)
})

test('a deadline can be moved both ways and cleared', () => {
  const { deadlines, pass } = start()
  const [later, sooner, cleared] = [new Item(), new Item(), new Item()]

  for (const item of [later, sooner, cleared]) deadlines.set(item, 10)
  pass(5)
  deadlines.set(later, 10)
  deadlines.set(sooner, 2)
  deadlines.clear(cleared)
  pass(2)
  assert.deepEqual([later.fired, sooner.fired], [0, 1])
  pass(7)
  assert.equal(later.fired, 0)
  pass(1)
  assert.equal(later.fired, 1)
  assert.equal(cleared.fired, 0)
})

test('an item may set itself again from its own deadline', () => {
  const { deadlines, pass } = start()
  class Again extends Item {
    override onDeadline(): void {
      super.onDeadline()
      deadlines.set(this, 3)
    }
  }
  const item = new Again()

  deadlines.set(item, 3)
  pass(12)

  assert.equal(item.fired, 4)
})

test('a deadline beyond the wheel comes at its end, none is lost', () => {
  const { deadlines, pass } = start()
  const item = new Item()

  deadlines.set(item, 5000)
  pass(1024)

  assert.equal(item.fired, 1)
})

test('a long pause of the process does not end everything at once', () => {
  const { deadlines, pass, sleep } = start()
  const item = new Item()

  deadlines.set(item, 20)
  sleep(60_000)
  pass(1)
  assert.equal(item.fired, 0)
  pass(20)
  assert.equal(item.fired, 1)
})
