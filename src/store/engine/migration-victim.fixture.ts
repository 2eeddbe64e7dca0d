// Run by tests as a separate process: migrates a database and kills itself after a given statement.
// Arguments: SQLite file or PostgreSQL URL, version and number of the last statement.
import { silentLog } from '../../base/process/log.ts'
import { migrate } from './migrations.ts'
import { PostgresEngine } from './postgres.ts'
import { type Migration, migrations } from './schema.ts'
import { SqliteEngine } from './sqlite/sqlite.ts'

const [location, version, statement] = process.argv.slice(2) as [string, string, string]
const engine = location.startsWith('postgres:')
  ? new PostgresEngine(location, silentLog)
  : new SqliteEngine(location, silentLog)
const next: Migration = {
  version: migrations.at(-1)!.version + 1,
  compatibleFrom: 1_000,
  statements: () => [
    'CREATE TABLE extra (id TEXT)',
    'UPDATE head SET revision = 1000000',
    'DELETE FROM settings',
  ],
}

await migrate(engine, [...migrations, next], {
  onStatement(atVersion, index) {
    if (atVersion === Number(version) && index === Number(statement)) process.kill(process.pid, 'SIGKILL')
  },
})
