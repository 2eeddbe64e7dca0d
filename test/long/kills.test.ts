import { test } from 'node:test'
import { killUnderWriters } from '../support/kill-server.ts'
import { createTestDatabase } from '../support/postgres.ts'

const SIZE = { kills: Number(process.env.LONG_KILLS ?? 100), writers: 4, writes: 2000 }

for (const engine of ['sqlite', 'postgres'] as const)
  test(`${engine}: ${SIZE.writes} acknowledged writes survive ${SIZE.kills} kills (P1)`, async (t) =>
    killUnderWriters(t, {
      ...SIZE,
      ...(engine === 'postgres' && { databaseUrl: (await createTestDatabase(t)).url }),
    }))
