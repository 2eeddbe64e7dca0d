import type { TestContext } from 'node:test'
import { type ApiOptions, startApi, type TestApi } from './api.ts'
import { freshDatabase } from './postgres.ts'

/** The API on each engine of the store. */
export const engines: Readonly<Record<string, (t: TestContext, options?: ApiOptions) => Promise<TestApi>>> = {
  SQLite: (t, options) => startApi(t, options),
  PostgreSQL: async (t, options) => startApi(t, { ...options, databaseUrl: (await freshDatabase(t)).url }),
}
