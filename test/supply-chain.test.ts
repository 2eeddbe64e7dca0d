import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { listLibraries } from '../scripts/build/libraries.ts'
import { createTempDir } from './support/temp-dir.ts'

const root = join(import.meta.dirname, '..')

interface LockedPackage {
  readonly resolved?: string
  readonly integrity?: string
  readonly inBundle?: boolean
  readonly dev?: boolean
  readonly optional?: boolean
  readonly cpu?: readonly string[]
  readonly os?: readonly string[]
  readonly libc?: readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

async function lockedPackages(): Promise<[string, LockedPackage][]> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>
  }
  return Object.entries(lock.packages).filter(([path]) => path !== '')
}

/** Whether npm skips the package where the tests run: a build of a development tool for another platform (decision 161). */
const isForOtherPlatform = ({ dev, optional, cpu, os = [], libc = [] }: LockedPackage) =>
  dev === true &&
  optional === true &&
  cpu !== undefined &&
  !(os.includes('linux') && libc.includes('glibc') && cpu.includes('x64'))

test('every package of the lock file has an integrity hash and comes from a registry', async () => {
  const packages = await lockedPackages()

  const unpinned = packages.filter(
    ([, locked]) =>
      !locked.inBundle &&
      ((locked.integrity === undefined && !isForOtherPlatform(locked)) ||
        /^(git|file|link)/.test(locked.resolved ?? '')),
  )

  assert.deepEqual(unpinned, [])
  assert.ok(packages.length > 100)
})

test('the lock file lists every dependency of its packages, so that `npm ci` accepts it', async () => {
  const packages = await lockedPackages()
  const paths = new Set(packages.map(([path]) => path))
  const isLocked = (dependent: string, name: string): boolean =>
    paths.has(`${dependent}/node_modules/${name}`) ||
    (dependent.includes('/node_modules/')
      ? isLocked(dependent.slice(0, dependent.lastIndexOf('/node_modules/')), name)
      : paths.has(`node_modules/${name}`))

  const missing = packages.flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !isLocked(path, name))
      .map((name) => `${name}, which ${path} needs`),
  )

  assert.deepEqual(missing, [])
})

test('the bill of materials is CycloneDX and lists every production dependency with its digest (P60)', async () => {
  const file = join(createTempDir(), 'sbom.json')
  execFileSync(process.execPath, [join(root, 'scripts', 'sbom.ts'), file])
  const bill = JSON.parse(await readFile(file, 'utf8'))
  const { name, version, devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))

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
  const production = new Set<string>()
  for (const component of bill.components) {
    assert.match(component.purl, /^pkg:npm\//)
    const properties: { name: string; value: string }[] = component.properties ?? []
    const isDevelopment = properties.some(({ name }) => name === 'cdx:npm:package:development')
    assert.ok(isDevelopment || component.hashes.length > 0, `${component.name} has no digest`)
    if (!isDevelopment) production.add(`${component.name}@${component.version}`)
  }
  const { program, pages } = await listLibraries(root)
  for (const library of ['node', ...program, ...pages])
    assert.ok(production.has(`${library}@${devDependencies[library]}`), `${library} is not listed`)
  assert.ok(
    [...production].some((component) => component.startsWith('fast-json-stringify@')),
    'fastify brings it',
  )
  for (const tool of ['vite', 'typescript', 'playwright-core'])
    assert.ok(!production.has(`${tool}@${devDependencies[tool]}`), `${tool} is not shipped`)
})
