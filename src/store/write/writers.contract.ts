import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { DurableStore } from '../durable-store.ts'

const STATES = ['created', 'updated', 'deleted']

/** A process that writes until it is killed, and its acknowledged writes. */
export interface Writers {
  /** The last acknowledged state by id. */
  readonly acknowledged: ReadonlyMap<string, string>
  kill(): Promise<void>
}

/** Starts writers in a separate process; resolves with the first acknowledged write. */
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
    // The kill may truncate the last line; only a complete line acknowledges an id.
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

/** Checks that every acknowledged write is stored, and both rows of every pair or none. */
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
    // The last write may have been committed without being acknowledged, so the state may be one step ahead.
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
