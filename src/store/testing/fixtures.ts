import type { TestContext } from 'node:test'
import type { Clock } from '../../base/values/clock.ts'
import { newId } from '../../base/values/id.ts'
import type { DurableStore } from '../durable-store.ts'
import type { Commit } from '../engine/changes.ts'
import type { AuditEntry, Draft, Follower, Row, Transaction } from '../store.ts'

/** The database of one test: stores can be opened on it, and tests can inspect it and tamper with it. */
export interface TestDatabase {
  /** The SQLite file or the PostgreSQL URL. */
  readonly location: string
  readonly masterKeyFile: string
  open(overrides?: {
    clock?: Clock
    masterKeyFile?: string
    onCommit?: (commit: Commit) => void
  }): Promise<DurableStore>
  /** Runs a statement that bypasses the store. */
  execute(statement: string, ...values: (string | number | null)[]): Promise<Record<string, unknown>[]>
  /** Directories with all files of the engine; undefined when they are not accessible. */
  readonly directories: readonly string[] | undefined
}

/** The account of most rows. */
export const ACCOUNT = 'ac_one'
/** Another account. */
export const OTHER = 'ac_two'

/** A minimal audit entry. */
export function entry(object?: string, account = ACCOUNT): AuditEntry {
  return {
    account,
    principal: 'usr_1',
    credential: 'ak_1',
    source: '192.0.2.1',
    requestId: 'op_1',
    action: 'create',
    kind: 'thing',
    object,
    outcome: 'done',
  }
}

/** A minimal draft. */
export function draft(overrides: Partial<Draft> = {}): Draft {
  return {
    kind: 'thing',
    id: newId('th'),
    account: ACCOUNT,
    data: { description: 'a thing' },
    claims: [],
    references: [],
    ...overrides,
  }
}

/** Writes rows in one audited call. */
export function put(store: DurableStore, ...drafts: Draft[]): Promise<Row[]> {
  return write(store, async (tx) => {
    const rows: Row[] = []
    for (const each of drafts) rows.push(await tx.insert(each))
    return rows
  })
}

/** Runs a call with its audit record. */
export function write<T>(store: DurableStore, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return store.write({ principal: 'usr_1', credential: 'ak_1' }, async (tx) => {
    const value = await work(tx)
    await tx.audit(entry())
    return value
  })
}

/** A follower that records rows and revisions. */
export function recorder() {
  const rows = new Map<string, Row>()
  const revisions: number[] = []
  let resets = 0
  const follower: Follower = {
    reset(all, revision) {
      rows.clear()
      for (const row of all) rows.set(row.id, row)
      revisions.push(revision)
      resets += 1
    },
    change(changes) {
      for (const { id, row, revision } of changes) {
        if (row) rows.set(id, row)
        else rows.delete(id)
        revisions.push(revision)
      }
    },
  }
  return {
    follower,
    rows,
    revisions,
    resets: () => resets,
  }
}

/** What a test of the contract gets: a new database, and a store that is open on it. */
export interface ContractContext {
  readonly t: TestContext
  readonly database: TestDatabase
  readonly store: DurableStore
  /** Creates another, empty database. */
  createDatabase(t: TestContext): Promise<TestDatabase>
}

/** Tests that every engine passes, by name. */
export type StoreContract = Readonly<Record<string, (context: ContractContext) => Promise<void>>>
