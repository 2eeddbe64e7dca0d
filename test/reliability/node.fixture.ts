// A node in its own process, with limits from the environment:
//   ADIT_TEST_LIMITS='{"graceMs":1000}' node node.fixture.ts --data-dir DIR …
import { type ServerLimits, startServer } from '../../src/server/index.ts'
import { readSettings } from '../../src/server/settings/settings.ts'

const limits = JSON.parse(process.env.ADIT_TEST_LIMITS ?? '{}') as ServerLimits
await startServer(readSettings(process.argv.slice(2), {}), limits)
process.stdout.write('ready\n')
