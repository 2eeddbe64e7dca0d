import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { DurableStore } from './durable-store.ts'

const STATES = ['created', 'updated', 'deleted']

/** Processes that write until they are killed, and what they were told is safe. */
export interface Writers {
  /** The last acknowledged state by id. */
  readonly acknowledged: ReadonlyMap<string, string>
  kill(): Promise<void>
}

/** Starts writers in a process of their own; resolves with the first acknowledged write. */
export async function startWriters(dataDir: string, url: string | undefined, run: string): Promise<Writers> {
  const script = fileURLToPath(new URL('./writers.fixture.ts', import.meta.url))
  const child = spawn(process.execPath, [script, dataDir, url ?? '', run], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const acknowledged = new Map<string, string>()
  const lines = createInterface({ input: child.stdout })
  const ended = once(lines, 'close')
  lines.on('line', (line) => {
    const [id, state] = line.split(' ')
    // The kill may cut the last line short; an id is acknowledged with its whole line only.
    if (id && state && STATES.includes(state)) acknowledged.set(id, state)
  })
  await Promise.race([
    once(lines, 'line'),
    exited.then(([code]) => assert.fail(`the writers ended by themselves with ${code}`)),
  ])
  return {
    acknowledged,
    async kill() {
      child.kill('SIGKILL')
      await Promise.all([exited, ended])
    },
  }
}

/** Checks that every acknowledged write is there, and that of every pair there are both halves or none. */
export async function assertNothingLost(
  store: DurableStore,
  acknowledged: ReadonlyMap<string, string>,
): Promise<void> {
  const stored = new Map<string, string>()
  let after: string | undefined
  for (;;) {
    const page = await store.scan('thing', { limit: 500, after })
    for (const row of page) {
      stored.set(row.id, String(row.data.state))
      if (row.secrets) assert.equal(row.secrets.state, row.data.state)
    }
    if (page.length < 500) break
    after = page.at(-1)?.id
  }
  for (const [id, state] of acknowledged) {
    // A write that was not acknowledged any more may have taken hold, so the state may be one further.
    const actual = stored.get(id) ?? 'deleted'
    const stepsAhead = STATES.indexOf(actual) - STATES.indexOf(state)
    assert.ok(stepsAhead === 0 || stepsAhead === 1, `${id} was acknowledged as ${state} and is ${actual}`)
  }
  for (const [id, state] of stored) {
    const other = id.endsWith('_child') ? id.slice(0, -'_child'.length) : `${id}_child`
    assert.equal(stored.get(other), state, `${id} and its other half differ`)
    if (!id.endsWith('_child')) assert.equal((await store.holder('name', id))?.id, id)
  }
  assert.equal(await store.verifyAudit('ac_one'), undefined)
  const [claims, references, changes, audits] = await Promise.all(
    ['claims', 'refs', 'changes', 'audit'].map(async (table) => {
      const row = await store.engine.reader.get(`SELECT count(*) AS rows FROM ${table}`)
      return Number(row?.rows)
    }),
  )
  assert.equal(claims, stored.size / 2)
  assert.equal(references, stored.size / 2)
  assert.equal(changes, audits! * 2, 'every call changes two rows and leaves one audit record')
}
