// Writes docs/roles.md from the declarations:
//   npm run roles
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolesPage } from '../src/api/reference/roles-page.ts'

writeFileSync(join(import.meta.dirname, '..', 'docs', 'roles.md'), rolesPage())
