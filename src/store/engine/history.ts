import type { Logger } from '../../base/process/log.ts'
import { formatTimestamp } from '../../base/values/clock.ts'
import { newId } from '../../base/values/id.ts'
import { HISTORY_SETTING, readHead } from './changes.ts'
import type { CommitTrace, Position, Sql, SqlChange } from './sql.ts'

const EPOCHS_SETTING = 'store.history.epochs'
/** As many starts of writers may lie between two looks of a reader. */
const MAX_EPOCHS = 256

/** A part of the history: what was written since a writer connected, by it and by others. */
type Epoch = readonly [id: string, after: number, startedAt: number]

/** Revisions that were seen and are not in the database. */
export interface HistoryLoss {
  /** Undefined if the database has another history, whose beginning is not known. */
  readonly revisions: number | undefined
  /** When what was kept ends, in milliseconds since 1970. */
  readonly since: number | undefined
}

/**
 * Begins an epoch after a revision. Each writer does so with the first write of a connection: a database that took over from
 * another one, and lacks its last revisions, has no connection of before, so that revisions with two meanings are in two epochs.
 * Where a dump was restored under its connection, the writer does so too.
 */
export async function beginEpoch(
  sql: Sql,
  after: number,
  now: number,
): Promise<{ id: string; change: SqlChange }> {
  const epochs = await readEpochs(sql)
  const id = newId('his')
  const change = {
    table: 'settings',
    columns: ['name', 'value', 'sealed'],
    rows: [
      [HISTORY_SETTING, id, 0],
      [EPOCHS_SETTING, JSON.stringify([...epochs, [id, after, now]].slice(-MAX_EPOCHS)), 0],
    ],
    conflict: 'ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  }
  return { id, change }
}

/**
 * Whether the history of a database that was started since has what a transaction wrote from this position on: writers begin
 * an epoch with their first write to it. Undefined when the history does not show what it wrote.
 */
export async function hasWritten(
  sql: Sql,
  from: Position,
  { revision, epoch }: CommitTrace,
): Promise<boolean | undefined> {
  if (epoch === undefined && revision === from.revision) return undefined
  const position = { history: epoch ?? from.history, revision }
  const end = await findEnd(sql, position, await readHead(sql))
  return end !== undefined && end >= revision
}

/** Compares what this process has seen with what the database has, and says once what was lost. */
export class HistoryWatch {
  readonly #log: Logger
  readonly #listeners = new Set<(loss: HistoryLoss) => void>()
  readonly #losses: HistoryLoss[] = []
  /** The identity that the database had when it was last looked at. */
  current = ''
  #latest: Position | undefined
  #reported = ''

  constructor(log: Logger) {
    this.#log = log
  }

  /** Tells of every loss, also of earlier ones. */
  onLoss(listener: (loss: HistoryLoss) => void): void {
    this.#listeners.add(listener)
    for (const loss of this.#losses) listener(loss)
  }

  /** Whether a reader has seen more than a database whose last revision is this. */
  isAhead(revision: number): boolean {
    return this.#latest !== undefined && this.#latest.revision > revision
  }

  /** A reader has reached a position. */
  reached(position: Position): void {
    const latest = this.#latest
    if (latest?.history !== position.history || latest.revision < position.revision) this.#latest = position
  }

  /**
   * Whether the history of the database, at this head, continues what a reader has seen: changes after its position are all that
   * it lacks. Otherwise it has to read everything again.
   */
  async continues(sql: Sql, position: Position, head: Position): Promise<boolean> {
    const seen = this.#latest?.history === position.history ? this.#latest : position
    const end = await findEnd(sql, position, head)
    if (end !== undefined && position.revision <= end) return true
    // Not the history that the database has now: writers begin others before every reader has noticed.
    const boundary = `${position.history} ${end}`
    if (this.#reported !== boundary) {
      this.#reported = boundary
      this.#report({
        revisions: end === undefined ? undefined : Math.max(seen.revision, position.revision) - end,
        since: end === undefined ? undefined : await findTime(sql, end),
      })
    }
    return false
  }

  #report(loss: HistoryLoss): void {
    const { revisions, since } = loss
    this.#log.error(
      { revisions, since: since === undefined ? undefined : formatTimestamp(since) },
      'the database has lost revisions that were seen here: reading everything again',
    )
    this.#losses.push(loss)
    for (const listener of this.#listeners) listener(loss)
  }
}

/** The last revision that the database shares with the history of a position; undefined if it does not know that history. */
async function findEnd(sql: Sql, { history }: Position, head: Position): Promise<number | undefined> {
  if (history === head.history) return head.revision
  const epochs = await readEpochs(sql)
  const index = epochs.findIndex(([id]) => id === history)
  // A database without epochs is of an earlier release.
  if (index < 0 && (history !== '' || epochs.length === MAX_EPOCHS)) return undefined
  return epochs[index + 1]?.[1] ?? head.revision
}

/** When a revision was committed, or the epoch after it began if its change is pruned. */
async function findTime(sql: Sql, revision: number): Promise<number | undefined> {
  const change = await sql.get('SELECT at FROM changes WHERE revision = ?', revision)
  if (change !== undefined) return Number(change.at)
  return (await readEpochs(sql)).find(([, after]) => after >= revision)?.[2]
}

async function readEpochs(sql: Sql): Promise<Epoch[]> {
  const setting = await sql.get('SELECT value FROM settings WHERE name = ?', EPOCHS_SETTING)
  return setting === undefined ? [] : JSON.parse(String(setting.value))
}
