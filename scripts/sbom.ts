// Writes Adit's software bill of materials (CycloneDX) from the lock file, with development packages marked as such:
//   node scripts/sbom.ts [FILE]
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listLibraries } from './build/libraries.ts'

interface Bill {
  metadata: { component: { name: string } }
  components: { 'bom-ref': string; name: string; scope?: string; properties?: { name: string }[] }[]
  dependencies: { ref: string; dependsOn?: string[] }[]
}

const DEVELOPMENT = 'cdx:npm:package:development'

const root = join(import.meta.dirname, '..')
const file = process.argv[2] ?? join(root, 'sbom.cdx.json')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  name: string
  devDependencies: Record<string, string>
}
const json = execFileSync(
  'npm',
  ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'],
  { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'ignore'] },
)
const bill = JSON.parse(json) as Bill
// npm names the application after its folder.
bill.metadata.component.name = manifest.name
unmarkProduction(bill, await productionReferences(bill))
writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`)
process.stdout.write(`${bill.components.length} components are listed in ${file}\n`)

/** The libraries, the runtime, which executables contain, and everything that these depend on. */
async function productionReferences({ dependencies }: Bill): Promise<Set<string>> {
  const { program, pages } = await listLibraries(root)
  const direct = ['node', ...program, ...pages].map((name) => `${name}@${manifest.devDependencies[name]}`)
  const next = new Map(dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn]))
  const references = new Set(direct)
  for (const reference of references)
    for (const dependency of next.get(reference) ?? []) references.add(dependency)
  return references
}

/** npm knows all of them as packages of development, because every library is inside the bundle (decision 174). */
function unmarkProduction({ components }: Bill, references: ReadonlySet<string>): void {
  for (const component of components) {
    if (!references.has(component['bom-ref'])) continue
    component.scope = 'required'
    component.properties = component.properties?.filter(({ name }) => name !== DEVELOPMENT) ?? []
  }
}
