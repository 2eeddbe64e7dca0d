import { type TestContext, test } from 'node:test'
import { auditContract } from './testing/audit.ts'
import { changeContract } from './testing/changes.ts'
import type { TestDatabase } from './testing/fixtures.ts'
import { leaseContract } from './testing/leases.ts'
import { nameContract } from './testing/names.ts'
import { referenceContract } from './testing/references.ts'
import { rowContract } from './testing/rows.ts'
import { schemaContract } from './testing/schema.ts'
import { secretContract } from './testing/secrets.ts'

/** The contract of both engines; each test gets a new database. */
export function storeContract(
  engine: string,
  createDatabase: (t: TestContext) => Promise<TestDatabase>,
): void {
  const contract = {
    ...rowContract,
    ...nameContract,
    ...referenceContract,
    ...changeContract,
    ...auditContract,
    ...leaseContract,
    ...secretContract,
    ...schemaContract,
  }
  for (const [name, body] of Object.entries(contract)) {
    test(`${engine}: ${name}`, async (t) => {
      const database = await createDatabase(t)
      await body({ t, database, store: await database.open(), createDatabase })
    })
  }
}
