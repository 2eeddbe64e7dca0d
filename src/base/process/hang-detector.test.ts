import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { HangDetector } from './hang-detector.ts'

/** Pauses this whole process, as a debugger or the sleep of a laptop does. */
function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

function start(t: TestContext, { reply }: { reply: (detector: HangDetector) => void }) {
  const asked = new EventTarget()
  const hung = new EventTarget()
  const counts = { questions: 0, hangs: 0 }
  const detector = new HangDetector({
    maxSilentRounds: 3,
    roundMs: 5,
    ask() {
      counts.questions += 1
      reply(detector)
      asked.dispatchEvent(new Event('asked'))
    },
    onHang() {
      counts.hangs += 1
      hung.dispatchEvent(new Event('hung'))
    },
  })
  // Its own timer does not keep the process alive.
  const alive = setInterval(() => {}, 1000)
  t.after(() => {
    clearInterval(alive)
    detector.stop()
  })
  return { detector, counts, asked: () => once(asked, 'asked'), hung: () => once(hung, 'hung') }
}

test('what does not reply is asked once and reported once', async (t) => {
  const { detector, counts, hung } = start(t, { reply() {} })

  await hung()

  assert.deepEqual(counts, { questions: 1, hangs: 1 })
  assert.equal(detector.silentRounds, 3)
})

test('what replies, however late, is asked again and not reported', async (t) => {
  const { detector, counts, asked } = start(t, {
    reply: (each) => setImmediate(() => each.onReply()),
  })

  for (let round = 0; round < 10; round++) await asked()

  assert.equal(counts.hangs, 0)
  assert.ok(detector.silentRounds <= 1)
})

test('a pause of the process that asks counts as nothing', async (t) => {
  const { counts, asked } = start(t, { reply: (detector) => setImmediate(() => detector.onReply()) })

  for (let round = 0; round < 3; round++) {
    await asked()
    // The reply is under way; many rounds pass meanwhile.
    pause(200)
  }
  await asked()

  assert.equal(counts.hangs, 0)
})
