import type { TestContext } from 'node:test'
import { startApi, type TestApi, type TestApiOptions } from './api.ts'
import { createTestDatabase } from './postgres.ts'

/** The API on each engine of the store. */
export const engines: Readonly<
  Record<string, (t: TestContext, options?: TestApiOptions) => Promise<TestApi>>
> = {
  SQLite: (t, options) => startApi(t, options),
  PostgreSQL: async (t, options) =>
    startApi(t, { ...options, databaseUrl: (await createTestDatabase(t)).url }),
}
