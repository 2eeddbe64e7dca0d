// Writes docs/errors.md, and the table of failed sign-ins in docs/login.md, from the declarations:
//   node scripts/errors.ts
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatErrorDocument } from '../src/errors/document.ts'
import { loadErrorCatalogue } from '../src/errors/index.ts'
import { replaceFailureTable } from '../src/errors/sign-in-failures.ts'

const docs = join(import.meta.dirname, '..', 'docs')
writeFileSync(join(docs, 'errors.md'), formatErrorDocument(await loadErrorCatalogue()))
const login = join(docs, 'login.md')
writeFileSync(login, await replaceFailureTable(readFileSync(login, 'utf8')))
