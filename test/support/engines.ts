import { after, type TestContext } from 'node:test'
import { shareApi, startApi, type TestApi, type TestApiOptions } from './api.ts'
import { createTestDatabase } from './postgres.ts'

/** The API on each engine of the store. */
export const engines: Readonly<
  Record<string, (t: TestContext, options?: TestApiOptions) => Promise<TestApi>>
> = {
  SQLite: (t, options) => startApi(t, options),
  PostgreSQL: async (t, options) =>
    startApi(t, { ...options, databaseUrl: (await createTestDatabase(t)).url }),
}

/** One API on each engine for all tests of a file, as `shareApi` has one. */
export async function shareEngines(): Promise<[engine: string, fresh: () => Promise<TestApi>][]> {
  const { url: databaseUrl } = await createTestDatabase({ after: (end) => after(end as () => void) })
  return [
    ['SQLite', (await shareApi()).fresh],
    ['PostgreSQL', (await shareApi({ databaseUrl })).fresh],
  ]
}
