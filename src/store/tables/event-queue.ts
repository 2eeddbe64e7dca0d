import type { DurableStore } from '../durable-store.ts'
import type { Sql, SqlRecord } from '../engine/sql.ts'
import { isLeased, requireLease } from '../write/leases.ts'
import type { CallSql } from '../write/write-queue.ts'

/** Another process may be the one that delivers. */
type AnnouncingSql = Sql & Pick<CallSql, 'announce'>

/** One event for one destination. */
export interface QueuedEvent {
  readonly destination: string
  readonly account: string
  readonly id: string
  readonly type: string
  /** The time of the event, in milliseconds since 1970. */
  readonly time: number
  readonly body: string
}

/** A queued event with its number of attempts so far. */
export interface PendingEvent extends QueuedEvent {
  readonly attempts: number
  readonly firstAt: number
  readonly dueAt: number
}

/** An event that failed for good, kept until it is replayed or expires. */
export interface DeadLetter extends QueuedEvent {
  readonly attempts: number
  readonly firstAt: number
  readonly deadAt: number
  readonly error: string
}

/** Counters and state of the deliveries to one destination. */
export interface SinkState {
  readonly destination: string
  readonly account: string
  readonly queued: number
  readonly queuedBytes: number
  readonly dead: number
  /** The number of events ever queued: grows when there is new work. */
  readonly enqueued: number
  readonly delivered: number
  /** Failed attempts. */
  readonly failed: number
  /** Events dropped because the queue was full. */
  readonly overflowed: number
  readonly lastSuccessAt: number | undefined
  readonly lastErrorAt: number | undefined
  readonly lastError: string | undefined
  /** The revision of the destination at which its receiver answered 410 Gone; a later revision is tried again. */
  readonly goneRevision: number | undefined
}

/** The result of one batch. */
export interface Settlement {
  readonly destination: string
  readonly account: string
  readonly now: number
  readonly delivered: readonly string[]
  /** Failed events; those without `dueAt` become dead letters. */
  readonly failed: readonly { ids: readonly string[]; error: string; dueAt: number | undefined }[]
  readonly goneRevision?: number | undefined
}

/** Counts of deliveries that bypassed this queue, for the state of their destination. */
export interface DeliveryCounts {
  readonly destination: string
  readonly account: string
  readonly now: number
  readonly delivered: number
  readonly failed: number
  readonly overflowed: number
  readonly error?: string | undefined
  /** As in a settlement; null when the receiver has accepted an event again. */
  readonly goneRevision?: number | null | undefined
}

/** The durable event queue: at-least-once delivery, with a separate queue for each destination. */
export interface EventQueue {
  /** The revision up to which changes have been turned into events; undefined before the first. */
  cursor(): Promise<number | undefined>
  /** Adds events up to `limit` for each destination, and counts the overflow. */
  add(events: readonly QueuedEvent[], options: { now: number; limit: number }): Promise<void>
  /**
   * Adds the events of the changes between two revisions and moves the cursor in one transaction. False when another
   * process has moved the cursor: nothing was added.
   */
  addChanges(
    events: readonly QueuedEvent[],
    options: {
      now: number
      limit: number
      from: number | undefined
      to: number
      lease: { name: string; fence: number }
    },
  ): Promise<boolean>
  /** Events that are due, longest due first. */
  listDue(
    destination: string,
    now: number,
    page: { limit: number; maxBytes: number },
  ): Promise<PendingEvent[]>
  /** The time at which the next event of a destination is due. */
  nextDueAt(destination: string): Promise<number | undefined>
  settle(settlement: Settlement): Promise<void>
  addCounts(counts: DeliveryCounts): Promise<void>
  /** The states of destinations with queued events. */
  pendingStates(): Promise<SinkState[]>
  /** The states of all destinations that ever had an event. */
  states(): Promise<SinkState[]>
  state(destination: string): Promise<SinkState | undefined>
  /** Dead letters of a destination, newest first. */
  deadLetters(
    destination: string,
    page: { limit: number; before?: string | undefined },
  ): Promise<DeadLetter[]>
  /** Queues dead letters again, up to the capacity of the queue; returns how many. */
  replay(
    destination: string,
    options: { now: number; limit: number; ids?: readonly string[] | undefined },
  ): Promise<number>
  /** Deletes dead letters older than `before`, and everything of deleted destinations. */
  purge(before: number): Promise<void>
}

const CURSOR = 'events.cursor'
const PAGE_SIZE = 500
const PURGE_BATCH_SIZE = 2_000
const INSERT_COLUMNS = [
  'destination',
  'id',
  'account',
  'type',
  'at',
  'body',
  'size',
  'first_at',
  'due_at',
  'attempts',
] as const
const DELIVERY_COLUMNS = `${INSERT_COLUMNS.join(', ')}, dead_at, error`
const ORPHANED = `destination NOT IN (SELECT id FROM resources WHERE kind = 'event_destinations')`

/** Opens the event queue of a store. */
export function openEventQueue({ engine, beat, inTransaction }: DurableStore): EventQueue {
  const { reader, dialect } = engine
  const { unnest } = dialect

  return {
    async cursor() {
      const setting = await reader.get('SELECT value FROM settings WHERE name = ?', CURSOR)
      return setting && Number(setting.value)
    },

    add: (events, { now, limit }) => inTransaction((sql) => insert(sql, events, now, limit)),

    addChanges: (events, { now, limit, from, to, lease }) => {
      if (events.length === 0 && from !== undefined)
        return beat(
          async (sql) =>
            (await sql.run(
              `UPDATE settings SET value = ? WHERE name = ? AND value = ?
               AND EXISTS (SELECT 1 FROM leases WHERE name = ? AND fence = ? AND ${isLeased(dialect, 'leases')})`,
              ...[String(to), CURSOR, String(from), lease.name, lease.fence],
            )) > 0,
        )
      return inTransaction(async (sql) => {
        await requireLease(sql, dialect, lease)
        if (!(await moveCursor(sql, from, to))) return false
        await insert(sql, events, now, limit)
        return true
      })
    },

    listDue: (destination, now, page) => listDue(reader, destination, now, page),

    async nextDueAt(destination) {
      const record = await reader.get(
        'SELECT MIN(due_at) AS due FROM event_deliveries WHERE destination = ? AND dead_at IS NULL',
        destination,
      )
      return typeof record?.due === 'number' ? record.due : undefined
    },

    settle: (settlement) => inTransaction((sql) => settle(sql, unnest, settlement)),

    addCounts: ({ destination, account, now, delivered, failed, overflowed, error, goneRevision }) =>
      inTransaction(async (sql) => {
        await ensureSink(sql, [{ destination, account }])
        await sql.run(
          `UPDATE event_sinks SET delivered = delivered + ?, failed = failed + ?, overflowed = overflowed + ?
           WHERE destination = ?`,
          delivered,
          failed,
          overflowed,
          destination,
        )
        if (goneRevision !== undefined)
          await sql.run(
            'UPDATE event_sinks SET gone_revision = ? WHERE destination = ?',
            goneRevision,
            destination,
          )
        await recordOutcome(sql, destination, now, delivered > 0, error)
      }),

    async pendingStates() {
      return (await reader.all('SELECT * FROM event_sinks WHERE queued > 0')).map(toSinkState)
    },

    async states() {
      return (await reader.all('SELECT * FROM event_sinks')).map(toSinkState)
    },

    async state(destination) {
      const record = await reader.get('SELECT * FROM event_sinks WHERE destination = ?', destination)
      return record && toSinkState(record)
    },

    async deadLetters(destination, { limit, before = '\u{10ffff}' }) {
      const records = await reader.all(
        `SELECT ${DELIVERY_COLUMNS} FROM event_deliveries WHERE destination = ? AND dead_at IS NOT NULL AND id < ?
         ORDER BY id DESC LIMIT ?`,
        destination,
        before,
        limit,
      )
      return records.map(toDeadLetter)
    },

    replay: (destination, options) => inTransaction((sql) => replay(sql, unnest, destination, options)),

    async purge(before) {
      const remove = (condition: string, ...values: number[]) =>
        inTransaction(async (sql) => {
          const deleted = await sql.run(
            `DELETE FROM event_deliveries WHERE (destination, id) IN
             (SELECT destination, id FROM event_deliveries WHERE ${condition} LIMIT ?)`,
            ...values,
            PURGE_BATCH_SIZE,
          )
          return deleted === PURGE_BATCH_SIZE
        })
      while (await remove('dead_at < ?', before));
      while (await remove(ORPHANED));
      await inTransaction(async (sql) => {
        await sql.run(`DELETE FROM event_sinks WHERE ${ORPHANED}`)
        await sql.run(
          `UPDATE event_sinks SET dead = (SELECT COUNT(*) FROM event_deliveries
           WHERE event_deliveries.destination = event_sinks.destination AND dead_at IS NOT NULL) WHERE dead > 0`,
        )
      })
    },
  }
}

async function listDue(
  reader: Sql,
  destination: string,
  now: number,
  { limit, maxBytes }: { limit: number; maxBytes: number },
): Promise<PendingEvent[]> {
  const events: PendingEvent[] = []
  let bytes = 0
  for (;;) {
    const last = events.at(-1)
    const page = await reader.all(
      `SELECT ${DELIVERY_COLUMNS} FROM event_deliveries WHERE destination = ? AND dead_at IS NULL AND due_at <= ?
       AND (due_at, id) > (?, ?) ORDER BY due_at, id LIMIT ?`,
      destination,
      now,
      last?.dueAt ?? -1,
      last?.id ?? '',
      Math.min(PAGE_SIZE, limit - events.length),
    )
    for (const record of page) {
      bytes += Number(record.size)
      if (bytes > maxBytes && events.length > 0) return events
      events.push(toPendingEvent(record))
    }
    if (page.length < PAGE_SIZE || events.length >= limit) return events
    // The embedded engine is synchronous: yields to the event loop.
    await new Promise(setImmediate)
  }
}

/** Deletes delivered events, schedules failed ones again or makes them dead letters, and counts both. */
async function settle(
  sql: Sql,
  unnest: string,
  { destination, account, now, delivered, failed, goneRevision }: Settlement,
): Promise<void> {
  await ensureSink(sql, [{ destination, account }])
  const waiting = `destination = ? AND dead_at IS NULL AND id IN (${unnest})`
  const deliveredTotals = await countPending(sql, waiting, destination, delivered)
  if (deliveredTotals.count > 0)
    await sql.run(`DELETE FROM event_deliveries WHERE ${waiting}`, destination, JSON.stringify(delivered))
  let attempts = 0
  const deadTotals = { count: 0, bytes: 0 }
  for (const { ids, error, dueAt } of failed) {
    const { count, bytes } = await countPending(sql, waiting, destination, ids)
    attempts += count
    if (dueAt === undefined) {
      deadTotals.count += count
      deadTotals.bytes += bytes
    }
    await sql.run(
      `UPDATE event_deliveries SET due_at = ?, dead_at = ?, error = ?, attempts = attempts + 1 WHERE ${waiting}`,
      dueAt ?? now,
      dueAt === undefined ? now : null,
      error,
      destination,
      JSON.stringify(ids),
    )
  }
  await sql.run(
    `UPDATE event_sinks SET queued = queued - ?, queued_bytes = queued_bytes - ?, dead = dead + ?,
     delivered = delivered + ?, failed = failed + ?, gone_revision = COALESCE(?, gone_revision)
     WHERE destination = ?`,
    deliveredTotals.count + deadTotals.count,
    deliveredTotals.bytes + deadTotals.bytes,
    deadTotals.count,
    deliveredTotals.count,
    attempts,
    goneRevision ?? null,
    destination,
  )
  await recordOutcome(sql, destination, now, delivered.length > 0, failed.at(-1)?.error)
}

async function replay(
  sql: AnnouncingSql,
  unnest: string,
  destination: string,
  { now, limit, ids }: { now: number; limit: number; ids?: readonly string[] | undefined },
): Promise<number> {
  const sink = await sql.get('SELECT queued FROM event_sinks WHERE destination = ?', destination)
  if (!sink) return 0
  sql.announce()
  const idFilter = ids === undefined ? '' : `AND id IN (${unnest})`
  const dead = await sql.all(
    `SELECT id, size FROM event_deliveries WHERE destination = ? AND dead_at IS NOT NULL ${idFilter}
     ORDER BY id LIMIT ?`,
    destination,
    ...(ids === undefined ? [] : [JSON.stringify(ids)]),
    Math.max(0, limit - Number(sink.queued)),
  )
  await sql.run(
    `UPDATE event_deliveries SET dead_at = NULL, error = NULL, attempts = 0, first_at = ?, due_at = ?
     WHERE destination = ? AND dead_at IS NOT NULL AND id IN (${unnest})`,
    now,
    now,
    destination,
    JSON.stringify(dead.map(({ id }) => id)),
  )
  await sql.run(
    `UPDATE event_sinks SET queued = queued + ?, queued_bytes = queued_bytes + ?, dead = dead - ?,
     enqueued = enqueued + ?, gone_revision = NULL WHERE destination = ?`,
    dead.length,
    dead.reduce((sum, { size }) => sum + Number(size), 0),
    dead.length,
    dead.length,
    destination,
  )
  return dead.length
}

async function moveCursor(sql: Sql, from: number | undefined, to: number): Promise<boolean> {
  const updated =
    from === undefined
      ? await sql.run(
          'INSERT INTO settings (name, value, sealed) VALUES (?, ?, 0) ON CONFLICT (name) DO NOTHING',
          CURSOR,
          String(to),
        )
      : await sql.run(
          'UPDATE settings SET value = ? WHERE name = ? AND value = ?',
          String(to),
          CURSOR,
          String(from),
        )
  return updated === 1
}

async function insert(
  sql: AnnouncingSql,
  events: readonly QueuedEvent[],
  now: number,
  limit: number,
): Promise<void> {
  if (events.length === 0) return
  sql.announce()
  const groups = Map.groupBy(events, ({ destination }) => destination)
  await ensureSink(
    sql,
    [...groups.values()].map((group) => group[0]!),
  )
  for (const [destination, group] of groups) {
    const sink = await sql.get('SELECT queued FROM event_sinks WHERE destination = ?', destination)
    const capacity = Math.max(0, limit - Number(sink?.queued ?? 0))
    const accepted = group
      .slice(0, capacity)
      .map((event) => ({ ...event, size: Buffer.byteLength(event.body) }))
    if (accepted.length > 0)
      await sql.apply({
        table: 'event_deliveries',
        columns: INSERT_COLUMNS,
        rows: accepted.map(({ id, account, type, time, body, size }) => [
          destination,
          id,
          account,
          type,
          time,
          body,
          size,
          now,
          now,
          0,
        ]),
      })
    await sql.run(
      `UPDATE event_sinks SET queued = queued + ?, queued_bytes = queued_bytes + ?, enqueued = enqueued + ?,
       overflowed = overflowed + ? WHERE destination = ?`,
      accepted.length,
      accepted.reduce((sum, { size }) => sum + size, 0),
      accepted.length,
      group.length - accepted.length,
      destination,
    )
  }
}

async function ensureSink(
  sql: Sql,
  sinks: readonly { destination: string; account: string }[],
): Promise<void> {
  if (sinks.length === 0) return
  await sql.apply({
    table: 'event_sinks',
    columns: ['destination', 'account'],
    rows: sinks.map(({ destination, account }) => [destination, account]),
    conflict: 'ON CONFLICT (destination) DO NOTHING',
  })
}

async function recordOutcome(
  sql: Sql,
  destination: string,
  now: number,
  success: boolean,
  error: string | undefined,
): Promise<void> {
  if (success)
    await sql.run('UPDATE event_sinks SET last_success_at = ? WHERE destination = ?', now, destination)
  if (error !== undefined)
    await sql.run(
      'UPDATE event_sinks SET last_error_at = ?, last_error = ? WHERE destination = ?',
      now,
      error,
      destination,
    )
}

/** Counts the events that are still pending: another process may have settled some of them. */
async function countPending(
  sql: Sql,
  condition: string,
  destination: string,
  ids: readonly string[],
): Promise<{ count: number; bytes: number }> {
  if (ids.length === 0) return { count: 0, bytes: 0 }
  const totals = await sql.get(
    `SELECT COUNT(*) AS count, COALESCE(SUM(size), 0) AS bytes FROM event_deliveries WHERE ${condition}`,
    destination,
    JSON.stringify(ids),
  )
  return { count: Number(totals?.count), bytes: Number(totals?.bytes) }
}

function toQueuedEvent(record: SqlRecord): QueuedEvent {
  return {
    destination: record.destination as string,
    account: record.account as string,
    id: record.id as string,
    type: record.type as string,
    time: Number(record.at),
    body: record.body as string,
  }
}

function toPendingEvent(record: SqlRecord): PendingEvent {
  return {
    ...toQueuedEvent(record),
    attempts: Number(record.attempts),
    firstAt: Number(record.first_at),
    dueAt: Number(record.due_at),
  }
}

function toDeadLetter(record: SqlRecord): DeadLetter {
  return {
    ...toQueuedEvent(record),
    attempts: Number(record.attempts),
    firstAt: Number(record.first_at),
    deadAt: Number(record.dead_at),
    error: String(record.error ?? ''),
  }
}

function toSinkState(record: SqlRecord): SinkState {
  const time = (value: unknown) => (value === null || value === undefined ? undefined : Number(value))
  return {
    destination: record.destination as string,
    account: record.account as string,
    queued: Number(record.queued),
    queuedBytes: Number(record.queued_bytes),
    dead: Number(record.dead),
    enqueued: Number(record.enqueued),
    delivered: Number(record.delivered),
    failed: Number(record.failed),
    overflowed: Number(record.overflowed),
    lastSuccessAt: time(record.last_success_at),
    lastErrorAt: time(record.last_error_at),
    lastError: (record.last_error as string | null) ?? undefined,
    goneRevision: time(record.gone_revision),
  }
}
