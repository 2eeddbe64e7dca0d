import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from './support/api.ts'

const root = join(import.meta.dirname, '..')

interface LockedPackage {
  readonly resolved?: string
  readonly integrity?: string
  readonly inBundle?: boolean
}

async function lockedPackages(): Promise<[string, LockedPackage][]> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>
  }
  return Object.entries(lock.packages).filter(([path]) => path !== '')
}

test('every package of the lock file has an integrity hash and comes from a registry', async () => {
  const packages = await lockedPackages()

  const unpinned = packages.filter(
    ([, { integrity, inBundle, resolved }]) =>
      !inBundle && (integrity === undefined || /^(git|file|link)/.test(resolved ?? '')),
  )

  assert.deepEqual(unpinned, [])
  assert.ok(packages.length > 100)
})

test('the bill of materials is CycloneDX and lists every production dependency with its digest (P60)', async (t) => {
  const file = join(await tempDir(t), 'sbom.json')
  execFileSync(process.execPath, [join(root, 'scripts', 'sbom.ts'), file])
  const bill = JSON.parse(await readFile(file, 'utf8'))
  const { name, version, dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))

  assert.equal(bill.bomFormat, 'CycloneDX')
  assert.match(bill.specVersion, /^1\.[5-9]$/)
  assert.match(bill.serialNumber, /^urn:uuid:[0-9a-f-]{36}$/)
  assert.deepEqual([bill.metadata.component.name, bill.metadata.component.version], [name, version])
  const references = new Set([
    bill.metadata.component['bom-ref'],
    ...bill.components.map((component: { 'bom-ref': string }) => component['bom-ref']),
  ])
  for (const { ref, dependsOn = [] } of bill.dependencies)
    for (const reference of [ref, ...dependsOn])
      assert.ok(references.has(reference), `${reference} is not listed`)
  for (const component of bill.components) {
    assert.match(component.purl, /^pkg:npm\//)
    assert.ok(component.hashes.length > 0, `${component.name} has no digest`)
  }
  const components = new Set(
    bill.components.map(
      (component: { name: string; version: string }) => `${component.name}@${component.version}`,
    ),
  )
  for (const [dependency, version] of Object.entries(dependencies))
    assert.ok(components.has(`${dependency}@${version}`), `${dependency} is not listed`)
})
