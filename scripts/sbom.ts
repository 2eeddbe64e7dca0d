// Writes Adit's software bill of materials (CycloneDX) from the lock file, with development packages marked as such:
//   node scripts/sbom.ts [FILE]
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const file = process.argv[2] ?? join(root, 'sbom.cdx.json')
const { name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { name: string }
const json = execFileSync(
  'npm',
  ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'],
  { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'ignore'] },
)
const bill = JSON.parse(json)
// npm names the application after its folder.
bill.metadata.component.name = name
writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`)
process.stdout.write(`${bill.components.length} components are listed in ${file}\n`)
