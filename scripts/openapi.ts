// Writes docs/openapi.json from the declarations:
//   npm run openapi
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { documentedOpenApi } from '../src/api/openapi.ts'

const file = join(import.meta.dirname, '..', 'docs', 'openapi.json')
writeFileSync(file, `${JSON.stringify(documentedOpenApi(), null, 2)}\n`)
