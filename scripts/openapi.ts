// Writes docs/openapi.json, and the generated files of src/api-client, from the declarations:
//   npm run openapi
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { documentedOpenApi } from '../src/api/reference/openapi.ts'
import { type Document, generateOperations, generateTypes } from './api-client/generate.ts'

const root = join(import.meta.dirname, '..')
const document = JSON.parse(JSON.stringify(documentedOpenApi()))
const files = {
  'docs/openapi.json': `${JSON.stringify(document, null, 2)}\n`,
  'src/api-client/operations.ts': generateOperations(document as Document),
  'src/api-client/types.ts': generateTypes(document as Document),
}
for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text)
