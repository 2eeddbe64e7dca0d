import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../support/temp-dir.ts'

/*
 * CONTRIBUTING.md lists the places that a new module, backend or resource needs. This adds one of each to a copy of the
 * repository and checks that the compiler or a test names each place that is missing.
 */

const root = join(import.meta.dirname, '../..')

/** A copy of the repository that can be changed. */
async function copyTree() {
  const copy = createTempDir()
  for (const name of ['src', 'test', 'scripts', 'bench', 'docs', 'package.json', 'tsconfig.json'])
    await cp(join(root, name), join(copy, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))

  // Else the test runner takes the tests of the copy for a part of this one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const run = (command: string, ...args: string[]) =>
    new Promise<string>((resolve) => {
      execFile(command, args, { cwd: copy, env, maxBuffer: 1e8 }, (_error, stdout, stderr) =>
        resolve(stdout + stderr),
      )
    })
  return {
    create: (path: string, text: string) => writeFile(join(copy, path), text),
    /** Inserts a line before the first line that contains `before`. */
    async insert(path: string, before: string, line: string) {
      const lines = (await readFile(join(copy, path), 'utf8')).split('\n')
      const index = lines.findIndex((each) => each.includes(before))
      assert.ok(index >= 0, `${path} has no line with ${before}`)
      await writeFile(join(copy, path), lines.toSpliced(index, 0, line).join('\n'))
    },
    async replace(path: string, text: string, other: string) {
      const before = await readFile(join(copy, path), 'utf8')
      assert.ok(before.includes(text), `${path} does not hold ${text}`)
      await writeFile(join(copy, path), before.replace(text, other))
    },
    /** The files in which the compiler finds errors. */
    async compile(project = '.') {
      const output = await run(join(root, 'node_modules/.bin/tsc'), '--noEmit', '-p', project)
      return {
        output,
        files: new Set([...output.matchAll(/^(\S+?)\(\d+,\d+\): error/gm)].map(([, file]) => file!)),
      }
    },
    runTests: (...files: string[]) => run(process.execPath, '--test', ...files),
    evaluate: (code: string) => run(process.execPath, '--input-type=module', '--eval', code),
  }
}

const MODULE = `import { Type } from 'typebox'
import { defineModule } from '../schema/module.ts'
import { defineEndpointOption } from '../schema/option.ts'
import { described, text } from '../schema/value.ts'

export const Sample = defineModule('sample', 'Samples.', { word: described(text(64), 'A word.') }, {
  endpoint: defineEndpointOption({
    name: 'sample',
    field: 'Sample',
    key: 'sample',
    wire: Type.Object({ word: Type.String() }),
    flags: [{ name: 'sample-word', field: 'word', help: 'a word' }],
    decode: ({ word }) => ({ word }),
    settings: (option) => option,
  }),
})
`

const MODULE_STEP = `import { Sample, type Settings } from '../../resources/index.ts'
import { implementModule } from '../contracts/module.ts'
import type { ModuleContext } from './context.ts'

export const sample = implementModule(Sample, {
  phase: 'request',
  build: (_settings: Settings<typeof Sample>, _context: ModuleContext) => () => undefined,
})
`

const BACKEND = `import { common, defineResource } from './schema/define.ts'

export const SampleBackend = defineResource({
  name: 'sample backend',
  description: 'Backends that are samples.',
  path: '/backends/sample',
  prefix: 'bkdsm',
  listKey: 'backends',
  fields: { ...common },
})
`

const BACKEND_BUILDER = `import type { SampleBackend } from '../../resources/index.ts'
import type { OwnedRecord } from '../contracts/snapshot.ts'
import { emptyBackend } from './balancer.ts'
import type { BackendBuilder } from './context.ts'

export const sample: BackendBuilder<OwnedRecord<typeof SampleBackend>> = () => emptyBackend
`

const RESOURCE = `import { common, defineResource } from './schema/define.ts'

export const Note = defineResource({
  name: 'note',
  description: 'Notes.',
  path: '/notes',
  prefix: 'note',
  listKey: 'notes',
  fields: { ...common },
})
`

const LISTS = {
  resources: 'src/resources/index.ts',
  modules: 'src/resources/modules/index.ts',
  edgeModules: 'src/edge/modules/index.ts',
  edgeBackends: 'src/edge/backends/index.ts',
  webModules: 'src/web/dashboard/pages/edges/modules.ts',
  webBackends: 'src/web/dashboard/pages/backends/kinds.ts',
} as const

const SAMPLES = 'test/support/samples.ts'
const CONVERSIONS = 'src/policy-cli/edge-policy.ts'
const DIAGRAM_TEST = 'src/web/dashboard/pages/edges/request-flow.test.ts'

// It compiles everything twice.
const timeout = 15 * 60_000

test('the compiler or a test names every place that a new module, backend or resource lacks', {
  timeout,
}, async () => {
  const { create, insert, replace, compile, runTests, evaluate } = await copyTree()

  // Declared and listed, nothing else.
  await create('src/resources/modules/sample.ts', MODULE)
  await insert(LISTS.modules, 'import { Saml }', "import { Sample } from './sample.ts'")
  await insert(LISTS.modules, '  saml: Saml,', '  sample: Sample,')
  await insert(LISTS.modules, '  Saml,', '  Sample,')
  for (const [file, text, name, kind] of [
    ['sample-backend', BACKEND, 'SampleBackend', 'backends_sample'],
    ['note', RESOURCE, 'Note', 'notes'],
  ] as const) {
    await create(`src/resources/${file}.ts`, text)
    await insert(LISTS.resources, 'import { StaticBackend }', `import { ${name} } from './${file}.ts'`)
    await insert(LISTS.resources, '  backends_static: StaticBackend,', `  ${kind}: ${name},`)
    await insert(LISTS.resources, '  StaticBackend,', `  ${name},`)
  }
  const withoutPrefix = await runTests('src/resources/resources.test.ts')
  assert.match(withoutPrefix, /✖ routes and backends can refer to every kind of backend/)

  await replace('src/resources/modules/backend.ts', "'bkdsc'", "'bkdsm', 'bkdsc'")
  const declared = await compile()
  for (const place of [
    LISTS.modules,
    LISTS.edgeModules,
    LISTS.edgeBackends,
    'src/edge/modules/modules.test.ts',
    'src/edge/modules/upgrades.test.ts',
    'src/edge/backends/backends.test.ts',
    CONVERSIONS,
    SAMPLES,
  ])
    assert.ok(declared.files.has(place), `${place} is not named:\n${declared.output}`)
  assert.match(declared.output, /'sample' is missing in type '\{ backend:/)
  assert.match(declared.output, /missing the following properties .*: backends_sample, notes/)

  // What the compiler asked for; the pages are still missing.
  await insert(LISTS.modules, '  oauth: Oauth.endpoint,', '  sample: Sample.endpoint,')
  await create('src/edge/modules/sample.ts', MODULE_STEP)
  await insert(LISTS.edgeModules, 'import { tlsTermination }', "import { sample } from './sample.ts'")
  await insert(LISTS.edgeModules, '  compression,', '  sample,')
  await create('src/edge/backends/sample.ts', BACKEND_BUILDER)
  await insert(LISTS.edgeBackends, 'import { staticAddress }', "import { sample } from './sample.ts'")
  await insert(LISTS.edgeBackends, '  backends_static: staticAddress,', '  backends_sample: sample,')
  await insert('src/edge/modules/modules.test.ts', '  mutual_tls: {', '  sample: {} as never,')
  await insert('src/edge/modules/upgrades.test.ts', '  mutual_tls: failing', '  sample: {} as never,')
  await insert('src/edge/backends/backends.test.ts', '  bkdsc: {', '  bkdsm: {} as never,')
  await insert(SAMPLES, '  compression: async', '  sample: async () => ({ word: "x" }),')
  await insert(SAMPLES, '  backends_static: {', '  backends_sample: {} as never, notes: {} as never,')
  await insert(CONVERSIONS, '  compression: (', '  sample: () => {},')
  const complete = await compile()
  assert.equal(complete.output, '')
  const withoutPages = await runTests(DIAGRAM_TEST, 'test/endpoint-options/endpoint-options.test.ts')
  assert.match(withoutPages, /✖ the diagram shows modules in the order in which the edge runs them/)
  assert.match(withoutPages, /✖ the dashboard knows every kind of backend/)
  assert.match(withoutPages, /✖ flags and their help/)

  await insert(
    LISTS.webModules,
    '  compression: {',
    "  sample: { icon: '', title: 'Sample', action: 'does nothing', summary: () => '' },",
  )
  await insert(
    LISTS.webBackends,
    '  static: {',
    "  sample: { prefix: 'bkdsm', icon: '', title: 'Sample', summary: '' },",
  )
  assert.equal((await compile('src/web')).output, '')
  assert.doesNotMatch(await runTests(DIAGRAM_TEST, 'src/resources/resources.test.ts'), /✖/)

  // Nothing more is needed: the option works from the command line to the module, and the API has the rest.
  const outcome = await evaluate(`
    const { ENDPOINT_FLAGS, toDefinition } = await import('./src/agent/commands/flags.ts')
    const { tunnelShape } = await import('./src/agent/config/definitions.ts')
    const { toTunnelSpec } = await import('./src/agent/spec/spec.ts')
    const { decode } = await import('./src/protocol/decode.ts')
    const { BindOpts } = await import('./src/protocol/messages.ts')
    const { toEndpointOptions } = await import('./src/sessions/bind/endpoint-options.ts')
    const { parseCommand } = await import('./src/sessions/ssh/command-line.ts')
    const { operations } = await import('./src/api/all-operations.ts')
    const { edgeKinds } = await import('./src/edge/contracts/snapshot.ts')
    const definition = toDefinition(ENDPOINT_FLAGS.http, { 'sample-word': 'hello' })
    const spec = toTunnelSpec('web', tunnelShape.read({ ...definition, proto: 'http', addr: '80' }, [], []))
    const paths = new Set(operations.map(({ path }) => path))
    console.log(JSON.stringify([
      toEndpointOptions('https', decode(BindOpts, spec.binds[0].opts)).sample,
      toEndpointOptions('https', parseCommand('http --sample-word hi').opts).sample,
      paths.has('/notes'), paths.has('/backends/sample'), edgeKinds.includes('backends_sample'),
    ]))`)
  assert.deepEqual(JSON.parse(outcome), [{ word: 'hello' }, { word: 'hi' }, true, true, true])
})
