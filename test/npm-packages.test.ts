import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Manifest, publishedManifest } from '../scripts/build/manifest.ts'
import { buildPackage } from '../scripts/build/packages.ts'

const root = join(import.meta.dirname, '..')

interface PackedManifest {
  readonly bin: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<'.', Readonly<Record<string, string>>>>
  readonly files: readonly string[]
}

let source: Manifest
let packageDir: string
let packed: string[]

before(async () => {
  source = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  packageDir = await mkdtemp(join(tmpdir(), 'adit-agent-'))
  await buildPackage('adit-agent', packageDir)
  const [{ files }] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: packageDir,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  )
  packed = files.map(({ path }: { path: string }) => path)
})

after(() => rm(packageDir, { recursive: true, force: true }))

test('a published manifest depends on nothing, runs no scripts and may be published with provenance', () => {
  const env = { GITHUB_REPOSITORY: 'someone/adit' }
  const { repository, publishConfig, ...manifest } = publishedManifest(source, env)

  assert.deepEqual(
    ['private', 'scripts', 'dependencies', 'devDependencies'].filter((field) => field in manifest),
    [],
  )
  assert.deepEqual(repository, { type: 'git', url: 'git+https://github.com/someone/adit.git' })
  assert.deepEqual(publishConfig, { access: 'public', provenance: true })
  assert.match(JSON.stringify(manifest.engines), /">=\d+\.\d+\.\d+"/)
})

test('a package holds no TypeScript, no test, and every file that its manifest names', async () => {
  const { bin, exports, files } = publishedManifest(source) as unknown as PackedManifest

  assert.deepEqual(
    packed.filter((file) =>
      /\.tsx?$|\.test\.|^(?:src|test|scripts|node_modules)\//.test(file.replace(/\.d\.ts$/, '')),
    ),
    [],
  )
  for (const file of [...Object.values(bin), ...Object.values(exports['.'])])
    assert.ok(packed.includes(file.replace('./', '')), `${file} is missing`)
  for (const file of files.filter((name) => name !== 'dist/dashboard'))
    assert.ok(
      packed.some((path) => path === file || path.startsWith(`${file}/`)),
      `${file} is missing`,
    )
  for (const file of ['LICENSE', 'README.md', 'dist/inspector/index.html'])
    assert.ok(packed.includes(file), `${file} is missing`)
  assert.ok(!packed.some((file) => file.includes('dashboard/')))
})

test('types of the library refer to nothing outside the package', async () => {
  const declarations = packed.filter((file) => file.endsWith('.d.ts'))

  for (const file of declarations) {
    const text = await readFile(join(packageDir, file), 'utf8')
    for (const [, name] of text.matchAll(/(?:from |import\()['"]([^'"]+)['"]/g))
      assert.match(name!, /^\.\/.+\.js$/, `${file} imports ${name}`)
    assert.doesNotMatch(text, /NodeJS|\bBuffer\b/)
  }
  assert.ok(declarations.length > 0)
})

test('the built agent starts, names the packages inside it and sends users of the server to the other package', () => {
  const run = (...args: string[]) =>
    execFileSync(process.execPath, [join(packageDir, 'bin', 'adit.cjs'), ...args], {
      encoding: 'utf8',
      stdio: 'pipe',
    })

  assert.equal(run('version'), `adit version ${source.version}\n`)
  assert.match(run('credits'), /^ {2}yaml +\d/m)
  assert.throws(() => run('server'), /agent alone, without the server.*npm install --global adit/)
})
