// Writes docs/traffic-policy-reference.md from the declarations:
//   node scripts/policy-reference.ts
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatLanguagePage } from '../src/policy/language-page.ts'

const file = join(import.meta.dirname, '..', 'docs', 'traffic-policy-reference.md')
writeFileSync(file, formatLanguagePage())
