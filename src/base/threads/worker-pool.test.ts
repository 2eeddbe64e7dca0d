import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { PoolFailure, WorkerPool, type WorkerPoolOptions } from './worker-pool.ts'

interface Job {
  kind: string
  text?: string
  gate?: Int32Array
}

function start(t: TestContext, options: Partial<WorkerPoolOptions> = {}) {
  const pool = new WorkerPool<Job, unknown>({
    module: new URL('../testing/pool-worker.ts', import.meta.url),
    maxThreads: 1,
    maxQueued: 16,
    jobTimeoutMs: 60_000,
    resourceLimits: { maxOldGenerationSizeMb: 32 },
    ...options,
  })
  t.after(() => pool.close())
  return pool
}

const outcomeOf = (job: Promise<unknown>) =>
  job.then(
    (result) => String(result),
    (error) => (error instanceof PoolFailure ? error.code : (error as Error).message),
  )

const gate = () => new Int32Array(new SharedArrayBuffer(4))

function open(closed: Int32Array): void {
  Atomics.store(closed, 0, 1)
  Atomics.notify(closed, 0)
}

test('each job gets its own result or error', async (t) => {
  const pool = start(t, { maxThreads: 2 })

  const outcomes = await Promise.all([
    outcomeOf(pool.run('a', { kind: 'echo', text: 'one' })),
    outcomeOf(pool.run('a', { kind: 'reject' })),
    outcomeOf(pool.run('a', { kind: 'echo', text: 'two' })),
  ])

  assert.deepEqual(outcomes, ['one', 'not this one', 'two'])
})

test('a job that hangs or crashes its worker fails alone', async (t) => {
  for (const [kind, code, deadline] of [
    ['hang', 'deadline_exceeded', 2000],
    ['exit', 'crashed', 60_000],
    ['throw', 'crashed', 60_000],
    ['memory', 'crashed', 60_000],
  ] as const) {
    const pool = start(t, { jobTimeoutMs: deadline })

    const outcomes = await Promise.all([
      outcomeOf(pool.run('a', { kind })),
      outcomeOf(pool.run('a', { kind: 'echo', text: 'next' })),
      outcomeOf(pool.run('a', { kind: 'echo', text: 'last' })),
    ])

    assert.deepEqual(outcomes, [code, 'next', 'last'], kind)
  }
})

test('a full queue rejects at once, and one owner cannot fill it', async (t) => {
  const pool = start(t, { maxQueued: 3 })
  const closed = gate()
  await pool.run('a', { kind: 'echo' })
  const running = pool.run('a', { kind: 'wait', gate: closed })
  const queued = [pool.run('a', { kind: 'echo', text: '1' }), pool.run('a', { kind: 'echo', text: '2' })]

  assert.equal(await outcomeOf(pool.run('a', { kind: 'echo' })), 'busy', 'of its owner')
  queued.push(pool.run('b', { kind: 'echo', text: '3' }))
  assert.equal(await outcomeOf(pool.run('c', { kind: 'echo' })), 'busy', 'of all')

  open(closed)
  assert.equal(await running, 'opened')
  assert.deepEqual(await Promise.all(queued), ['1', '2', '3'])
})

test('two threads run at once', async (t) => {
  const pool = start(t, { maxThreads: 2 })
  const closed = gate()
  const first = pool.run('a', { kind: 'wait', gate: closed })

  assert.equal(await pool.run('b', { kind: 'echo', text: 'meanwhile' }), 'meanwhile')

  open(closed)
  assert.equal(await first, 'opened')
})

test('owners take turns, however many jobs one of them has', async (t) => {
  const pool = start(t)
  const closed = gate()
  await pool.run('a', { kind: 'echo' })
  const running = pool.run('a', { kind: 'wait', gate: closed })
  const order: string[] = []
  const jobs = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((text) =>
    pool.run(text[0]!, { kind: 'echo', text }).then((result) => order.push(String(result))),
  )

  open(closed)
  await Promise.all([running, ...jobs])

  assert.deepEqual(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
})

test('one owner does not occupy all threads', async (t) => {
  const pool = start(t, { maxThreads: 3 })
  const closed = gate()
  const waiting = Array.from({ length: 4 }, () => pool.run('a', { kind: 'wait', gate: closed }))

  assert.equal(await pool.run('b', { kind: 'echo', text: 'at once' }), 'at once')

  open(closed)
  assert.deepEqual(await Promise.all(waiting), ['opened', 'opened', 'opened', 'opened'])
})

test('a worker that cannot be started fails the jobs that wait for it', async (t) => {
  const module = new URL('../testing/broken-worker.ts', import.meta.url)
  const pool = start(t, { module })

  const outcomes = await Promise.all(
    [1, 2, 3].map((number) => outcomeOf(pool.run('a', { kind: 'echo', text: `${number}` }))),
  )

  assert.deepEqual(outcomes, ['crashed', 'crashed', 'crashed'])
})

test('a closed pool fails its jobs and accepts no more', async (t) => {
  const pool = start(t)
  await pool.run('a', { kind: 'echo' })
  const running = outcomeOf(pool.run('a', { kind: 'hang' }))
  const queued = outcomeOf(pool.run('a', { kind: 'echo' }))

  await pool.close()

  assert.equal(await running, 'closed')
  assert.equal(await queued, 'closed')
  assert.equal(await outcomeOf(pool.run('a', { kind: 'echo' })), 'closed')
})
