// Writes docs/errors.md from the declarations:
//   node scripts/errors.ts
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatErrorDocument } from '../src/errors/document.ts'
import { loadErrorCatalogue } from '../src/errors/index.ts'

const file = join(import.meta.dirname, '..', 'docs', 'errors.md')
writeFileSync(file, formatErrorDocument(await loadErrorCatalogue()))
