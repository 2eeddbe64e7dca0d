import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TimerEntry, TimerWheel } from './timer-wheel.ts'

class Entry extends TimerEntry {
  fired = 0

  onDeadline(): void {
    this.fired++
  }
}

/** A wheel that the test advances by hand, 100 ms at a time. */
function start() {
  let now = 0
  const wheel = new TimerWheel({ now: () => now, monotonic: () => now }, 100)
  return {
    wheel,
    pass(ticks: number) {
      for (let n = 0; n < ticks; n++) {
        now += 100
        wheel.advance()
      }
    },
    /** Time passes while the process sleeps. */
    sleep(milliseconds: number) {
      now += milliseconds
    },
  }
}

test('an entry fires once, after its time and not before', () => {
  const { wheel, pass } = start()
  const entry = new Entry()

  wheel.set(entry, wheel.ticks(1000))
  pass(10)
  assert.equal(entry.fired, 0)
  pass(1)
  assert.equal(entry.fired, 1)
  pass(2000)
  assert.equal(entry.fired, 1)
})

test('a deadline can be extended, shortened and cleared', () => {
  const { wheel, pass } = start()
  const [later, sooner, cleared] = [new Entry(), new Entry(), new Entry()]

  for (const entry of [later, sooner, cleared]) wheel.set(entry, 10)
  pass(5)
  wheel.set(later, 10)
  wheel.set(sooner, 2)
  wheel.clear(cleared)
  pass(2)
  assert.deepEqual([later.fired, sooner.fired], [0, 1])
  pass(7)
  assert.equal(later.fired, 0)
  pass(1)
  assert.equal(later.fired, 1)
  assert.equal(cleared.fired, 0)
})

test('an entry may set itself again in onDeadline', () => {
  const { wheel, pass } = start()
  class Again extends Entry {
    override onDeadline(): void {
      super.onDeadline()
      wheel.set(this, 3)
    }
  }
  const entry = new Again()

  wheel.set(entry, 3)
  pass(12)

  assert.equal(entry.fired, 4)
})

test('a deadline beyond the wheel fires at its end', () => {
  const { wheel, pass } = start()
  const entry = new Entry()

  wheel.set(entry, 5000)
  pass(1024)

  assert.equal(entry.fired, 1)
})

test('a long pause of the process does not fire all deadlines', () => {
  const { wheel, pass, sleep } = start()
  const entry = new Entry()

  wheel.set(entry, 20)
  sleep(60_000)
  pass(1)
  assert.equal(entry.fired, 0)
  pass(20)
  assert.equal(entry.fired, 1)
})
