import { measureLossy } from './parts.ts'
import { withPrograms } from './processes.ts'
import { openResults } from './run.ts'

await withPrograms((dir) => measureLossy(dir, openResults()))
