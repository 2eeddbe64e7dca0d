import { test } from 'node:test'
import { killDatabaseUnderWriters, killUnderWriters } from '../support/kill-server.ts'
import { createTestDatabase } from '../support/postgres.ts'

const SIZE = { kills: Number(process.env.LONG_KILLS ?? 100), writers: 4, writes: 2000 }
/** One takes longer than that of a server: PostgreSQL reads its log again. */
const DATABASE_KILLS = Math.ceil(SIZE.kills / 4)

for (const engine of ['sqlite', 'postgres'] as const)
  test(`${engine}: ${SIZE.writes} acknowledged writes survive ${SIZE.kills} kills (P1)`, async (t) =>
    killUnderWriters(t, {
      ...SIZE,
      ...(engine === 'postgres' && { databaseUrl: (await createTestDatabase(t)).url }),
    }))

test(`acknowledged writes survive ${DATABASE_KILLS} kills of PostgreSQL itself (P2)`, (t) =>
  killDatabaseUnderWriters(t, { ...SIZE, kills: DATABASE_KILLS }))
