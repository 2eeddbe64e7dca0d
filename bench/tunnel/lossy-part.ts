import { measureLossy } from './parts.ts'
import { openResults, withPrograms } from './run.ts'

await withPrograms((dir) => measureLossy(dir, openResults()))
