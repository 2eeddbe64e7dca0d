import type { TestContext } from 'node:test'
import { startApi, type TestApi } from './api.ts'
import { freshDatabase } from './postgres.ts'

type Options = Parameters<typeof startApi>[1]

/** The API on each engine the store has. */
export const engines: Readonly<Record<string, (t: TestContext, options?: Options) => Promise<TestApi>>> = {
  SQLite: (t, options) => startApi(t, options),
  PostgreSQL: async (t, options) => startApi(t, { ...options, databaseUrl: (await freshDatabase(t)).url }),
}
