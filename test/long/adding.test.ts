import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../support/temp-dir.ts'

/*
 * CONTRIBUTING.md lists the places that a new thing of each kind needs. This adds one of each to a copy of the repository and
 * checks that the compiler or a test names each place that is missing, and that each needs as many places as here: files of the
 * program and of the support that its tests share. Its own cases in tests and what is written or generated about it are not
 * counted.
 */
const PLACES = {
  module: 7,
  'backend kind': 7,
  resource: 3,
  action: 4,
  'event target': 3,
  command: 2,
  'server flag': 1,
  'DNS provider': 5,
  page: 3,
  error: 1,
}

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
  const places = new Map<string, Set<string>>()
  /** Adds a thing of this kind, or its case in a test, and counts the files. */
  const adding = (kind: keyof typeof PLACES | 'case') => {
    const edit = async (path: string, change: (text: string) => string) => {
      places.set(kind, (places.get(kind) ?? new Set()).add(path))
      const before = await readFile(join(copy, path), 'utf8').catch(() => '')
      await writeFile(join(copy, path), change(before))
    }
    return {
      async create(path: string, text: string) {
        await mkdir(dirname(join(copy, path)), { recursive: true })
        await edit(path, () => text)
      },
      /** Inserts a line before the first line that contains `before`. */
      insert: (path: string, before: string, line: string) =>
        edit(path, (text) => {
          const lines = text.split('\n')
          const index = lines.findIndex((each) => each.includes(before))
          assert.ok(index >= 0, `${path} has no line with ${before}`)
          return lines.toSpliced(index, 0, line).join('\n')
        }),
      replace: (path: string, text: string, other: string) =>
        edit(path, (before) => {
          assert.ok(before.includes(text), `${path} does not hold ${text}`)
          return before.replace(text, other)
        }),
    }
  }
  return {
    adding,
    /** Each kind with the number of its places. */
    countPlaces: () => [...places].flatMap(([kind, { size }]) => (kind === 'case' ? [] : [[kind, size]])),
    /** The files in which the compiler finds errors. */
    async compile(project = '.') {
      const output = await run(join(root, 'node_modules/.bin/tsc'), '--noEmit', '-p', project)
      return {
        output,
        files: new Set([...output.matchAll(/^(\S+?)\(\d+,\d+\): error/gm)].map(([, file]) => file!)),
      }
    },
    run,
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

// Each compiles everything twice.
const timeout = 15 * 60_000

test('the compiler or a test names every place that a new module, backend or resource lacks', {
  timeout,
}, async () => {
  const { adding, countPlaces, compile, runTests, evaluate } = await copyTree()
  const [module, backend, resource] = [adding('module'), adding('backend kind'), adding('resource')]
  const cases = adding('case')

  // Declared and listed, nothing else.
  await module.create('src/resources/modules/sample.ts', MODULE)
  await module.insert(LISTS.modules, 'import { Saml }', "import { Sample } from './sample.ts'")
  await module.insert(LISTS.modules, '  saml: Saml,', '  sample: Sample,')
  await module.insert(LISTS.modules, '  Saml,', '  Sample,')
  for (const [{ create, insert }, file, text, name, kind] of [
    [backend, 'sample-backend', BACKEND, 'SampleBackend', 'backends_sample'],
    [resource, 'note', RESOURCE, 'Note', 'notes'],
  ] as const) {
    await create(`src/resources/${file}.ts`, text)
    await insert(LISTS.resources, 'import { StaticBackend }', `import { ${name} } from './${file}.ts'`)
    await insert(LISTS.resources, '  backends_static: StaticBackend,', `  ${kind}: ${name},`)
    await insert(LISTS.resources, '  StaticBackend,', `  ${name},`)
  }
  const withoutPrefix = await runTests('src/resources/resources.test.ts')
  assert.match(withoutPrefix, /✖ routes and backends can refer to every kind of backend/)

  await backend.replace('src/resources/modules/backend.ts', "'bkdsc'", "'bkdsm', 'bkdsc'")
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
  await module.insert(LISTS.modules, '  oauth: Oauth.endpoint,', '  sample: Sample.endpoint,')
  await module.create('src/edge/modules/sample.ts', MODULE_STEP)
  await module.insert(LISTS.edgeModules, 'import { tlsTermination }', "import { sample } from './sample.ts'")
  await module.insert(LISTS.edgeModules, '  compression,', '  sample,')
  await backend.create('src/edge/backends/sample.ts', BACKEND_BUILDER)
  await backend.insert(LISTS.edgeBackends, 'import { staticAddress }', "import { sample } from './sample.ts'")
  await backend.insert(LISTS.edgeBackends, '  backends_static: staticAddress,', '  backends_sample: sample,')
  await cases.insert('src/edge/modules/modules.test.ts', '  mutual_tls: {', '  sample: {} as never,')
  await cases.insert('src/edge/modules/upgrades.test.ts', '  mutual_tls: failing', '  sample: {} as never,')
  await cases.insert('src/edge/backends/backends.test.ts', '  bkdsc: {', '  bkdsm: {} as never,')
  await module.insert(SAMPLES, '  compression: async', '  sample: async () => ({ word: "x" }),')
  await backend.insert(SAMPLES, '  backends_static: {', '  backends_sample: {} as never,')
  await resource.insert(SAMPLES, '  backends_static: {', '  notes: {} as never,')
  await module.insert(CONVERSIONS, '  compression: (', '  sample: () => {},')
  const complete = await compile()
  assert.equal(complete.output, '')
  const withoutPages = await runTests(DIAGRAM_TEST, 'test/endpoint-options/endpoint-options.test.ts')
  assert.match(withoutPages, /✖ the diagram shows modules in the order in which the edge runs them/)
  assert.match(withoutPages, /✖ the dashboard knows every kind of backend/)
  assert.match(withoutPages, /✖ flags and their help/)

  await module.insert(
    LISTS.webModules,
    '  compression: {',
    "  sample: { icon: '', title: 'Sample', action: 'does nothing', summary: () => '' },",
  )
  await backend.insert(
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
  assert.deepEqual(countPlaces(), Object.entries(PLACES).slice(0, 3))
})

const ACTION = `import { empty } from '../config.ts'
import { defineAction } from './define.ts'

export const sample = defineAction({
  type: 'sample',
  description: 'Does nothing.',
  example: {},
  phases: ['on_http_request'],
  config: empty,
})
`

const ACTION_STEP = `import type { Implementation } from '../implement.ts'

export const sample: Implementation<'sample'> = { on_http_request: () => () => undefined }
`

const TARGET = `import { delivered, type TargetFactory } from '../target.ts'

export const sample: TargetFactory<'sample'> = () => ({
  limits: { maxEvents: 1, maxBytes: 1024, maxEventBytes: 1024, lingerMs: 0 },
  deliver: async (batch) => batch.map(() => delivered),
})
`

const COMMAND = `export const sample = (write: (text: string) => void) => write('a sample')
`

const COMMAND_ENTRY = `  defineCommand({
    usage: 'sample',
    help: 'print a sample',
    run: async ({ out }) => (await import('./sample.ts')).sample(out),
  }),`

const PROVIDER = `import { defineProvider } from './provider.ts'

export const sample = defineProvider({
  title: 'Sample',
  variables: { token: { names: ['SAMPLE_TOKEN'] } },
  open: () => ({ findZone: async () => undefined, addTxt: async () => {}, removeTxt: async () => {} }),
})
`

const PAGE = `import { Page } from '../../kit/index.ts'

export default function SamplePage() {
  return <Page title="Sample">A sample.</Page>
}
`

const PAGE_ENTRY = `  {
    path: '/sample',
    title: 'Sample',
    section: 'Account',
    load: () => import('./pages/sample/sample-page.tsx'),
  },`

const CONTRACT = 'src/events/targets/target.contract.test.ts'

const STAND_IN = `import type { TestContext } from 'node:test'
import type { ProviderStandIn, StandInOptions } from './stand-in.ts'

export async function startSample(_t: TestContext, _options: StandInOptions): Promise<ProviderStandIn> {
  return {
    variables: { SAMPLE_TOKEN: 't' },
    invalidVariables: {},
    invalidMessage: /sample/,
    values: async () => [],
    violations: [],
  }
}
`

const ERROR = `  sample: {
    code: 499,
    status: 400,
    cause: 'The call is a sample.',
    next: 'Send another call.',
    text: () => 'This call is a sample.',
  },`

test('the compiler or a test names every place that anything else lacks', { timeout }, async () => {
  const { adding, countPlaces, compile, run, runTests, evaluate } = await copyTree()
  const [action, target, command] = [adding('action'), adding('event target'), adding('command')]
  const [flag, provider, page, error] = [
    adding('server flag'),
    adding('DNS provider'),
    adding('page'),
    adding('error'),
  ]
  const cases = adding('case')

  // Declared, nothing else.
  await action.create('src/policy/actions/sample.ts', ACTION)
  await action.insert(
    'src/policy/actions/index.ts',
    'import { setVars }',
    "import { sample } from './sample.ts'",
  )
  await action.insert('src/policy/actions/index.ts', '  saml,', '  sample,')
  await target.insert(
    'src/resources/event-destination.ts',
    '    webhook: described(nullable(webhook)',
    "    sample: described(nullable(object({})), 'A sample.'),",
  )
  await command.create('src/agent/commands/sample.ts', COMMAND)
  await command.insert('src/agent/commands/list.ts', "  defineServiceAction('start'", COMMAND_ENTRY)
  await flag.insert(
    'src/server/settings/settings.ts',
    "  logLevel: defineSetting('log-level'",
    "  sample: defineSetting('sample', 'TEXT', 'a sample', '', parseOptional),",
  )
  await provider.create('src/certs/acme/dns/sample.ts', PROVIDER)
  await provider.insert(
    'src/certs/acme/dns/providers.ts',
    'import { route53 }',
    "import { sample } from './sample.ts'",
  )
  await provider.replace(
    'src/certs/acme/dns/providers.ts',
    'rfc2136, route53 }',
    'rfc2136, route53, sample }',
  )
  await page.create('src/web/dashboard/pages/sample/sample-page.tsx', PAGE)
  await page.insert('src/web/dashboard/pages.ts', '  // The list shows the endpoints', PAGE_ENTRY)
  await error.insert('src/api/problems.ts', '  no_key: {', ERROR)
  const declared = await compile()
  for (const place of [
    'src/edge/policy/actions/index.ts',
    'src/edge/policy/upgrades.test.ts',
    'src/policy/actions/corpus.test.ts',
    'src/events/targets/kinds.ts',
    'src/events/targets/target.contract.test.ts',
    'src/server/settings/settings.ts',
    'test/support/dns-providers/index.ts',
  ])
    assert.ok(declared.files.has(place), `${place} is not named:\n${declared.output}`)
  const withoutRest = await runTests(
    'src/program.test.ts',
    'src/web/dashboard/resources.test.ts',
    'src/errors/errors.test.ts',
  )
  assert.match(withoutRest, /✖ every command has examples/)
  assert.match(withoutRest, /✖ every page of the navigation has an icon/)
  assert.match(withoutRest, /✖ docs\/errors\.md is what the declarations generate/)

  // What they asked for.
  await action.create('src/edge/policy/actions/sample.ts', ACTION_STEP)
  await action.insert(
    'src/edge/policy/actions/index.ts',
    'import { setVars }',
    "import { sample } from './sample.ts'",
  )
  await action.insert('src/edge/policy/actions/index.ts', '  saml,', '  sample,')
  await cases.insert(
    'src/edge/policy/upgrades.test.ts',
    '  saml: rejecting',
    "  sample: passing(onRequest({ type: 'sample' })),",
  )
  await cases.insert(
    'src/policy/actions/corpus.test.ts',
    '  deny: { valid',
    '  sample: { valid: {}, invalid: {} },',
  )
  await target.create('src/events/targets/sample.ts', TARGET)
  await target.insert(
    'src/events/targets/kinds.ts',
    'import { webhook }',
    "import { sample } from './sample.ts'",
  )
  await target.insert('src/events/targets/kinds.ts', '  webhook,', '  sample,')
  await cases.insert(CONTRACT, '  webhook: null,', '  sample: null,')
  await cases.insert(CONTRACT, '  firehose: {', '  sample: {} as never,')
  await command.replace(
    'src/agent/commands/list.ts',
    "    help: 'print a sample',",
    "    help: 'print a sample',\n    examples: [['adit sample', 'print it']],",
  )
  await provider.insert('src/server/settings/settings.ts', '  route53: true,', '  sample: true,')
  await provider.create('test/support/dns-providers/sample.ts', STAND_IN)
  await provider.insert(
    'test/support/dns-providers/index.ts',
    'import type { ProviderStandIn',
    "import { startSample } from './sample.ts'",
  )
  await provider.insert(
    'test/support/dns-providers/index.ts',
    '  route53: startRoute53,',
    '  sample: startSample,',
  )
  await page.insert('src/web/dashboard/page-icons.ts', "  '/overview':", "  '/sample': 'M2 3h12',")
  await run(process.execPath, 'scripts/errors.ts')
  assert.equal((await compile()).output, '')
  assert.equal((await compile('src/web')).output, '')
  assert.doesNotMatch(
    await runTests('src/program.test.ts', 'src/web/dashboard/resources.test.ts', 'src/errors/errors.test.ts'),
    /✖/,
  )

  // Nothing more is needed: each of them is there for users.
  const outcome = await evaluate(`
    const { readPolicy } = await import('./src/policy/index.ts')
    const { routes } = await import('./src/api/all-routes.ts')
    const { loadProgram } = await import('./src/program.ts')
    const { commandHelp } = await import('./src/command-line/help.ts')
    const { formatSettingsHelp, readSettings } = await import('./src/server/settings/settings.ts')
    const { serverCompletion } = await import('./src/server/commands/completion.ts')
    const { configureProvider } = await import('./src/certs/acme/dns/providers.ts')
    const { explainErrors } = await import('./src/errors/index.ts')
    const policy = 'on_http_request: [{ actions: [{ type: sample }] }]'
    const settings = readSettings(['--sample', 'x', '--dns-provider', 'sample'], {})
    const { commands, commonFlags } = await loadProgram({ run: async () => 0, completion: async () => [] })
    const create = routes.find(({ id }) => id === 'event_destinations.create')
    const environment = { SAMPLE_TOKEN: 't' }
    const dns = { name: settings.dnsProvider, credentialsFile: undefined, environment }
    console.log(JSON.stringify([
      readPolicy(policy, { protocol: 'https', kind: 'endpoint' }).phases.on_http_request.length,
      JSON.stringify(create.body).includes('"sample"'),
      (await commandHelp(commands, commands[0], commonFlags)).includes('print a sample'),
      settings.sample, readSettings([], { ADIT_SAMPLE: 'y' }).sample, formatSettingsHelp().includes('--sample TEXT'),
      serverCompletion().every(({ path, words }) => path !== 'server' || words.includes('--sample')),
      (await configureProvider(dns, {})).title,
      (await explainErrors('499')).includes('The call is a sample.'),
    ]))`)
  assert.deepEqual(JSON.parse(outcome), [1, true, true, 'x', 'y', true, true, 'Sample', true])
  assert.deepEqual(countPlaces(), Object.entries(PLACES).slice(3))
})
