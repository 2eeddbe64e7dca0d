import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { agentManifest, type Manifest } from '../scripts/build/manifest.ts'
import { buildAgentPackage } from '../scripts/build/packages.ts'
import { documentedOpenApi } from '../src/api/reference/openapi.ts'
import { createTempDir } from './support/temp-dir.ts'

const root = join(import.meta.dirname, '..')

interface PackedManifest {
  readonly bin: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<'.' | './api', Readonly<Record<string, string>>>>
  readonly files: readonly string[]
}

let source: Manifest
let packageDir: string
let packed: string[]

before(async () => {
  source = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  // The whole suite runs from a build that has just been made.
  if (process.env.ADIT_TEST_PROGRAM !== undefined) packageDir = join(root, 'dist', 'adit-agent')
  else {
    packageDir = createTempDir()
    await buildAgentPackage(packageDir)
  }
  packed = listPacked(packageDir)
})

/** The files that `npm pack` puts into the tarball of a directory. */
function listPacked(directory: string): string[] {
  const json = execFileSync('npm', ['pack', '--dry-run', '--json'], {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [{ files }] = JSON.parse(json) as [{ files: { path: string }[] }]
  return files.map(({ path }) => path)
}

test('both packages depend on nothing, run no scripts when installed and may be published with provenance', () => {
  for (const { publishConfig, engines, ...manifest } of [source, agentManifest(source)]) {
    assert.deepEqual(
      ['private', 'dependencies', 'optionalDependencies', 'peerDependencies', 'bundleDependencies'].filter(
        (field) => field in manifest,
      ),
      [],
    )
    assert.doesNotMatch(
      Object.keys(manifest.scripts ?? {}).join(' '),
      /\b(?:pre|post)?(?:install|prepare|pack|publish)\b/,
    )
    assert.deepEqual(publishConfig, { access: 'public', provenance: true })
    assert.match(JSON.stringify(engines), /">=\d+\.\d+\.\d+"/)
  }
})

test('`npm pack` in the repository packs nothing but the build and its documents', () => {
  const expected =
    /^(?:bin\/adit\.cjs|scripts\/install\.sh|dist\/(?:lib|types|inspector|dashboard|docs)\/.+|dist\/third-party-licences\.txt|docs\/(?:(?:guides|decisions)\/)?[^/]+|[A-Z]+(?:\.md)?|package\.json)$/

  const files = listPacked(root)

  assert.deepEqual(
    files.filter((file) => !expected.test(file)),
    [],
  )
  for (const file of ['bin/adit.cjs', 'dist/dashboard/index.html', 'dist/docs/guides/webhooks.html'])
    assert.ok(files.includes(file), `${file} is missing`)
})

test('a copy that was packed before it was built says so', async () => {
  const directory = createTempDir()
  for (const file of ['bin/adit.cjs', 'package.json'])
    await cp(join(root, file), join(directory, file), { recursive: true })

  const { status, stdout, stderr } = spawnSync(process.execPath, [join(directory, 'bin', 'adit.cjs')], {
    encoding: 'utf8',
  })

  assert.deepEqual([status, stdout], [1, ''])
  assert.match(stderr, /^ERROR: {2}This copy of Adit was not built\. .*npm run build && npm pack\n$/)
})

test('a package holds no TypeScript, no test, and every file that its manifest names', async () => {
  const { bin, exports, files } = agentManifest(source) as unknown as PackedManifest

  assert.deepEqual(
    packed.filter((file) =>
      /\.tsx?$|\.test\.|^(?:src|test|scripts|node_modules)\//.test(file.replace(/\.d\.ts$/, '')),
    ),
    [],
  )
  for (const file of [...Object.values(bin), ...[exports['.'], exports['./api']].flatMap(Object.values)])
    assert.ok(packed.includes(file.replace('./', '')), `${file} is missing`)
  for (const file of files.filter((path) => !path.startsWith('!')))
    assert.ok(
      packed.some((path) => path === file || path.startsWith(`${file}/`)),
      `${file} is missing`,
    )
  for (const file of ['LICENSE', 'README.md', 'dist/inspector/index.html'])
    assert.ok(packed.includes(file), `${file} is missing`)
  assert.ok(!packed.some((file) => /dashboard\/|dist\/docs\/|images\//.test(file)))
})

test('the agent leaves the descriptions of the API to the server', async () => {
  const { tags, components } = documentedOpenApi()
  const descriptions = [...JSON.stringify({ tags, components }).matchAll(/"description":("[^"\\]{30,}")/g)]
  const files = packed.filter((file) => /^dist\/lib\/.+\.js$/.test(file))
  const chunks = await Promise.all(files.map((file) => readFile(join(packageDir, file), 'utf8')))
  // Actions of policies, which the agent explains, have descriptions of their own.
  const code = chunks.filter((chunk) => /\bdefine(?:Resource|Module)\(/.test(chunk)).join('')

  const present = descriptions.flatMap(([, text = '']) => (code.includes(text) ? text : []))

  assert.deepEqual(present, [])
  assert.ok(descriptions.length > 100 && code !== '')
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
  assert.throws(() => run('server'), /agent alone, without the server.*npm install --global adit-server/)
})
