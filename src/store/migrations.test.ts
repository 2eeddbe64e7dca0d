import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { silentLog } from '../base/log.ts'
import { IncompatibleSchema, migrate, requireCompatibleSchema } from './migrations.ts'
import { migrations } from './schema.ts'
import { SqliteEngine } from './sqlite.ts'

test('beside a running release only migrations that it is compatible with are run', async (t) => {
  const engine = new SqliteEngine(join(createTempDir(), 'adit.db'), silentLog)
  t.after(() => engine.close())
  await migrate(engine, migrations)
  const { version } = migrations.at(-1)!
  const next = (compatibleFrom: number) => [
    ...migrations,
    { version: version + 1, compatibleFrom, statements: () => [] },
  ]

  await requireCompatibleSchema(engine, migrations)
  await requireCompatibleSchema(engine, next(version))
  await assert.rejects(requireCompatibleSchema(engine, next(version + 1)), IncompatibleSchema)
})
