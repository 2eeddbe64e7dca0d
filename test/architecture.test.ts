import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { listLibraries } from '../scripts/build/libraries.ts'
import { cyclesOf, readImportGraph } from '../scripts/import-graph.ts'

const root = join(import.meta.dirname, '..')

/** A second front door of `resources`: the options of endpoints, without the resources. */
const OPTIONS = 'resources/endpoint-options.ts'

/** A second front door of `edge`: a policy without listeners. */
const TRIAL = 'edge/policy/trial/index.ts'

/** Who may import whom. Everyone may import `base`; `server` wires the parts and may import all of them. */
const DIRECTIONS: Record<string, readonly string[]> = {
  base: [],
  protocol: [OPTIONS],
  resources: [],
  cel: [],
  policy: ['cel', OPTIONS],
  store: ['resources'],
  auth: ['resources', 'store'],
  certs: ['resources', 'store'],
  dns: ['resources', 'store'],
  events: ['resources', 'cel', 'store'],
  naming: ['protocol', 'resources', 'store'],
  sessions: ['protocol', 'resources', 'policy', 'auth', 'naming'],
  cluster: ['protocol', 'auth', 'sessions'],
  edge: ['resources', 'cel', 'policy', 'certs', 'sessions'],
  api: ['resources', 'cel', 'policy', 'store', 'auth', 'certs', 'naming', 'sessions', 'events'],
  'command-line': [],
  'api-client': [],
  'api-cli': ['command-line', 'api', 'api-client', 'resources'],
  'policy-cli': ['command-line', 'policy', 'api-cli', TRIAL],
  dashboard: ['resources', 'policy', 'store', 'auth', 'api', TRIAL],
  agent: ['command-line', 'protocol', OPTIONS],
  // The declarations of errors alone, which load nothing else.
  errors: ['protocol', 'policy', 'api', 'edge', 'agent'],
  web: [],
  'program.ts': ['command-line'],
  'cli.ts': ['program.ts'],
  'agent-cli.ts': ['program.ts'],
}

/**
 * Whose types a part may import where it may not import the part: the JSON that pages read is declared by its server, and every
 * module of a route has its conversion to a policy.
 */
const TYPE_DIRECTIONS: Record<string, readonly string[]> = {
  'policy-cli': ['src/resources/index.ts'],
  web: ['src/api-client/index.ts', 'src/dashboard/page-data.ts', 'src/agent/local-api/page-data.ts'],
}

/** The executables load each part when it is asked for. */
const LAZY: Record<string, readonly string[]> = {
  'cli.ts': ['server'],
  'program.ts': ['command-line', 'agent', 'api-cli', 'policy-cli', 'errors', 'sessions'],
}

/**
 * Which folder inside a part may import which, from left to right. `.` stands for the files at the part's root that others
 * share; `doors` are those at the root that put the folders together: they may import all of them, and what imports a door
 * names it. A file name allows that file alone.
 */
const FOLDERS: Record<string, { doors: readonly string[]; folders: Record<string, readonly string[]> }> = {
  base: {
    doors: [],
    folders: {
      '.': ['process'],
      text: [],
      limits: ['values'],
      values: [],
      http: ['values'],
      pattern: [],
      process: ['text'],
      'io/memory': ['limits', 'values', 'process'],
      'io/streams': ['limits', 'io/memory'],
      'io/sockets': ['values', 'process', 'io/memory', 'io/streams'],
      threads: ['text', 'process', 'io/sockets'],
      outbound: ['values', 'process', 'io/streams', 'threads'],
    },
  },
  edge: {
    doors: ['index.ts', 'edge.ts', 'login/index.ts', 'login/login-service.ts'],
    folders: {
      '.': ['message', 'response', 'contracts', 'stats'],
      message: ['errors.ts'],
      response: ['snapshot.ts', 'errors.ts', 'error-kinds.ts'],
      contracts: ['errors.ts', 'message', 'response', 'stats'],
      stats: ['connection.ts'],
      services: ['.', 'contracts'],
      http: ['.', 'message', 'response', 'contracts'],
      upstream: ['.', 'message', 'contracts'],
      listeners: ['.', 'contracts', 'http'],
      kubernetes: ['.', 'contracts', 'http', 'listeners'],
      modules: ['.', 'message', 'response', 'contracts', 'stats', 'services'],
      backends: ['message', 'response', 'contracts', 'upstream'],
      policy: ['.', 'message', 'response', 'contracts', 'stats', 'services', 'modules'],
      compile: ['.', 'contracts', 'stats', 'services', 'upstream', 'modules', 'backends', 'policy'],
      resolve: ['.', 'response', 'contracts', 'stats', 'services', 'upstream', 'compile'],
      login: ['message', 'services'],
      'login/provider': ['.', 'stats', 'login'],
      'login/sessions': ['.', 'message', 'contracts', 'services', 'login', 'login/provider'],
      'login/oauth': ['login', 'login/provider'],
      'login/oidc': ['login', 'login/provider', 'login/sessions'],
      'login/saml': ['.', 'login', 'login/provider', 'login/sessions'],
      'login/guard': [
        '.',
        'response',
        'contracts',
        'stats',
        'services',
        'login',
        'login/provider',
        'login/sessions',
        'login/saml',
      ],
    },
  },
  agent: {
    doors: ['index.ts', 'library.ts', 'agent.ts'],
    folders: {
      '.': ['config', 'connect', 'update'],
      config: [],
      log: [],
      connect: ['config', 'log'],
      update: ['config', 'log'],
      spec: ['config'],
      inspector: ['.', 'config'],
      forward: ['.', 'log', 'spec', 'inspector'],
      tunnels: ['.', 'log', 'connect', 'spec', 'forward'],
      replay: ['.', 'spec', 'inspector', 'forward'],
      'local-api': ['agent.ts', '.', 'config', 'log', 'connect', 'spec', 'inspector', 'tunnels', 'replay'],
      screen: ['agent.ts', '.', 'inspector', 'tunnels'],
      docker: ['log', 'connect', 'spec', 'tunnels'],
      commands: [
        'agent.ts',
        '.',
        'config',
        'log',
        'connect',
        'update',
        'spec',
        'inspector',
        'tunnels',
        'local-api',
        'screen',
        'docker',
      ],
    },
  },
  api: {
    doors: ['index.ts', 'all-operations.ts', 'all-routes.ts'],
    folders: {
      '.': ['compat'],
      account: ['.', 'crud', 'resources'],
      compat: [],
      crud: ['.'],
      http: ['all-operations.ts', '.', 'compat', 'crud', 'reference'],
      reference: ['all-routes.ts', '.', 'account'],
      resources: ['.', 'crud'],
    },
  },
  store: {
    doors: ['index.ts', 'durable-store.ts'],
    folders: {
      '.': [],
      engine: ['.'],
      'engine/sqlite': ['.', 'engine'],
      seal: ['engine'],
      write: ['.', 'engine', 'seal'],
      feed: ['.', 'engine', 'seal', 'write'],
      tables: ['durable-store.ts', '.', 'engine', 'write'],
      copy: ['durable-store.ts', '.', 'engine', 'engine/sqlite', 'write', 'tables'],
      backup: ['durable-store.ts', 'engine', 'engine/sqlite', 'seal', 'write', 'copy'],
    },
  },
  sessions: {
    doors: ['index.ts'],
    folders: {
      '.': [],
      session: ['.'],
      registry: ['.', 'session'],
      bind: ['.', 'session', 'registry'],
      gateway: ['.', 'session', 'registry', 'bind'],
      'ssh/transport': [],
      ssh: ['.', 'session', 'registry', 'bind', 'gateway', 'ssh/transport'],
    },
  },
  server: {
    doors: ['index.ts', 'parts.ts', 'workers/worker-process.ts', 'hand-over.ts'],
    folders: {
      '.': ['settings', 'process'],
      settings: [],
      bus: [],
      process: ['settings', 'bus'],
      upgrade: ['settings', 'process'],
      workers: ['settings', 'bus', 'process', 'upgrade'],
      downloads: [],
      wiring: ['.', 'settings', 'bus', 'process', 'upgrade', 'workers', 'downloads'],
      check: ['settings'],
      trust: [],
      setup: ['.', 'settings', 'downloads', 'check'],
      commands: ['index.ts', '.', 'settings', 'process', 'upgrade', 'downloads', 'check', 'trust', 'setup'],
    },
  },
  dashboard: {
    doors: ['index.ts'],
    folders: {
      '.': [],
      'sign-in': ['.'],
      policy: ['.'],
      views: ['.', 'sign-in', 'policy'],
    },
  },
  events: {
    doors: ['index.ts', 'events.ts'],
    folders: {
      '.': [],
      aws: ['.'],
      targets: ['.', 'aws'],
      traffic: ['.'],
      destinations: ['.', 'targets', 'traffic'],
      queue: ['.', 'traffic', 'destinations'],
    },
  },
  protocol: {
    doors: ['index.ts'],
    folders: {
      '.': ['mux'],
      mux: [],
    },
  },
  certs: {
    doors: ['index.ts', 'certs.ts', 'lookup.ts'],
    folders: {
      '.': [],
      x509: ['.'],
      ssh: ['.', 'x509'],
      'acme/client': ['x509'],
      'acme/dns': ['acme/client'],
      acme: ['x509', 'acme/client', 'acme/dns'],
    },
  },
  resources: {
    doors: ['index.ts'],
    folders: {
      '.': ['schema', 'modules'],
      schema: [],
      modules: ['schema'],
    },
  },
  cel: {
    doors: [
      'index.ts',
      'compile.ts',
      'condition.ts',
      'environment.ts',
      'closures.ts',
      'check.ts',
      'reads.ts',
    ],
    folders: {
      '.': [],
      library: ['.'],
    },
  },
  policy: {
    doors: [
      'index.ts',
      'language.ts',
      'language-page.ts',
      'review.ts',
      'validate.ts',
      'cookie-domains.ts',
      'provider-tokens.ts',
      'variables/index.ts',
      'actions/index.ts',
    ],
    folders: {
      '.': ['ip-data'],
      'ip-data': [],
      variables: ['.'],
      functions: ['.', 'variables'],
      actions: ['.', 'variables', 'functions'],
    },
  },
  web: {
    doors: [],
    folders: {
      '.': [],
      shared: [],
      dashboard: ['shared'],
      inspector: ['shared'],
      docs: ['shared'],
    },
  },
}

/** Files that import each other, types included, with the reason. Nothing else may. */
const CYCLES: Readonly<Record<string, readonly string[]>> = {
  'A session owns its streams, and a stream writes through its session.': [
    'src/protocol/mux/mux-session.ts',
    'src/protocol/mux/mux-stream.ts',
  ],
  'A session has tunnels, and a tunnel opens streams on its session.': [
    'src/sessions/session/live-session.ts',
    'src/sessions/session/live-tunnel.ts',
  ],
  'The contracts of the edge name each other: an exchange has a route, whose steps get an exchange.': [
    'src/edge/contracts/backend.ts',
    'src/edge/contracts/exchange.ts',
    'src/edge/contracts/held-body.ts',
    'src/edge/contracts/held-response.ts',
    'src/edge/contracts/module.ts',
    'src/edge/contracts/runtime.ts',
    'src/edge/contracts/table.ts',
  ],
  'A pool opens connections, and a connection returns to its pool.': [
    'src/edge/upstream/http1.ts',
    'src/edge/upstream/pool.ts',
  ],
  'A connection runs exchanges, and an exchange writes through its connection.': [
    'src/edge/http/http1-connection.ts',
    'src/edge/http/http1-exchange.ts',
  ],
  'A multipart body shows messages, and a message shows its body.': [
    'src/web/inspector/message/body-view.tsx',
    'src/web/inspector/message/message-view.tsx',
  ],
  'A field can be a list of event sources, and an event source has fields.': [
    'src/web/dashboard/form/event-sources.tsx',
    'src/web/dashboard/form/fields.tsx',
  ],
}

const graph = await readImportGraph(root)
const partOf = (file: string) => file.split('/')[1]!

const importsBetweenParts = graph.imports
  .filter(({ from, to }) => partOf(from) !== partOf(to))
  .filter(({ from, to, typeOnly }) => !(typeOnly && TYPE_DIRECTIONS[partOf(from)]?.includes(to)))
  .map(({ from, to, lazy }) => ({ file: from, from: partOf(from), to: partOf(to), target: to, lazy }))

test('parts import each other only in the directions that are drawn', () => {
  const wrong = importsBetweenParts.filter(({ from, to, target, lazy }) => {
    if (to === 'base' || from === 'server') return false
    const allowed = DIRECTIONS[from]
    return (
      !(allowed?.includes(to) || allowed?.includes(target.slice('src/'.length))) &&
      !(lazy && LAZY[from]?.includes(to))
    )
  })

  assert.deepEqual(
    wrong.map(({ file, target }) => `${file} imports ${target}`),
    [],
  )
  assert.ok(importsBetweenParts.length > 50, 'the scan found no imports, so it proves nothing')
})

test('parts enter each other by the front door', () => {
  const back = importsBetweenParts.filter(
    ({ to, target, lazy }) =>
      to !== 'base' &&
      !lazy &&
      ![OPTIONS, TRIAL].includes(target.slice('src/'.length)) &&
      !/^src\/(?:[a-z-]+\/index|program)\.ts$/.test(target),
  )

  assert.deepEqual(
    back.map(({ file, target }) => `${file} imports ${target}`),
    [],
  )
})

test('the options of endpoints load modules and values, but no resources', () => {
  const loaded = new Set([`src/${OPTIONS}`])
  for (const file of loaded)
    for (const { from, to } of graph.imports)
      if (from === file && to.startsWith('src/resources/')) loaded.add(to)
  const others = [...loaded].filter((file) => !file.startsWith('src/resources/modules/')).sort()

  assert.deepEqual(
    others.map((file) => file.split('/').at(-1)),
    [
      'endpoint-options.ts',
      'acl.ts',
      'define.ts',
      'formats.ts',
      'module.ts',
      'option.ts',
      'roles.ts',
      'value.ts',
    ],
  )
})

/** The folder of a file as `FOLDERS` names it: the deepest one that is listed, `.` at the root, `undefined` for a door. */
function folderIn(part: string, file: string): string | undefined {
  const { doors, folders } = FOLDERS[part]!
  const path = file.slice(`src/${part}/`.length)
  if (doors.includes(path)) return undefined
  if (!path.includes('/')) return '.'
  let folder = dirname(path)
  while (folder.includes('/') && !(folder in folders)) folder = dirname(folder)
  return folder
}

test('folders of a part import each other only in the directions that are drawn', () => {
  const wrong: string[] = []
  let checked = 0
  for (const { from, to } of graph.imports) {
    const part = partOf(from)
    if (partOf(to) !== part || !FOLDERS[part]) continue
    const [source, target] = [folderIn(part, from), folderIn(part, to)]
    if (source === undefined || source === target) continue
    checked++
    const allowed = FOLDERS[part].folders[source]
    const fileName = to.split('/').at(-1)!
    if (allowed?.includes(fileName) || (target !== undefined && allowed?.includes(target))) continue
    wrong.push(`${from} imports ${to}`)
  }

  assert.deepEqual(wrong, [])
  assert.ok(checked > 100, 'the scan found no imports, so it proves nothing')
})

test('every part that has folders draws their order, and no order is a circle', () => {
  const parts = new Set(graph.files.filter((file) => file.split('/').length > 3).map((file) => partOf(file)))
  const edges = Object.entries(FOLDERS).flatMap(([part, { folders }]) =>
    Object.entries(folders).flatMap(([from, allowed]) =>
      allowed.filter((to) => to in folders).map((to) => ({ from: `${part}/${from}`, to: `${part}/${to}` })),
    ),
  )

  assert.deepEqual(Object.keys(FOLDERS).sort(), [...parts].sort())
  assert.deepEqual(cyclesOf(edges), [])
})

test('no files import each other, types included, but those with a reason', () => {
  const cycles = cyclesOf(graph.imports)

  assert.deepEqual(
    cycles.sort(),
    Object.values(CYCLES)
      .map((files) => [...files])
      .sort(),
  )
})

/** Doors of the package itself: their exports are for programs that install it. */
const PACKAGE_DOORS = ['src/agent/index.ts', 'src/agent/library.ts', 'src/api-client/index.ts']

const REEXPORTS = /^export (?:type )?\{([^}]*)\} from '[^']+'/gm

test('every exported value is used by another file, and everything behind a front door outside its part', async () => {
  const wordsOf = new Map<string, Set<string>>()
  const exported: { file: string; name: string; isUser: (other: string) => boolean }[] = []
  for await (const file of glob('{src,test,bench,scripts,bin}/**/*.{ts,tsx}', { cwd: root })) {
    const source = await readFile(join(root, file), 'utf8')
    wordsOf.set(file, new Set(source.replace(REEXPORTS, '').match(/\w+/g)))
    if (!graph.files.includes(file) || PACKAGE_DOORS.includes(file)) continue
    for (const [, name = ''] of source.matchAll(
      /^export (?:async )?(?:abstract )?(?:const|function|class) (\w+)/gm,
    ))
      exported.push({ file, name, isUser: (other) => other !== file })
    for (const [, list = ''] of source.matchAll(REEXPORTS))
      for (const entry of list.split(',').filter((text) => text.trim() !== ''))
        exported.push({
          file,
          name: entry.trim().split(' ').at(-1)!,
          isUser: (other) =>
            other !== file && !(file.endsWith('/index.ts') && other.startsWith(`${dirname(file)}/`)),
        })
  }

  const dead = exported.filter(
    ({ name, isUser }) => ![...wordsOf].some(([other, words]) => words.has(name) && isUser(other)),
  )
  assert.deepEqual(
    dead.map(({ file, name }) => `${file} exports ${name}`),
    [],
  )
  assert.ok(exported.length > 1000, 'the scan found no exports, so it proves nothing')
})

/** The files that may ask a socket what it knows of its connection, each when the connection is made. */
const SOCKET_READERS = [
  'src/base/io/sockets/socket-addresses.ts',
  'src/edge/listeners/tls-terminator.ts',
  // As a client, of a connection it has just made itself.
  'src/agent/commands/diagnose.ts',
  'src/agent/forward/forwarder.ts',
  'src/server/check/system-probes.ts',
]

const SOCKET_FACT =
  /\b(?:socket|raw|transport|secure|peer|#socket|#transport)\w*\??\.(?:remote(?:Address|Port|Family)|local(?:Address|Port|Family)|alpnProtocol|get(?:Cipher|Protocol|PeerCertificate|PeerX509Certificate|Session)\b|authorizationError|isSessionReused)/

test('the facts of a connection are copied when it is made, never read from a socket later', async () => {
  const readers: string[] = []
  for await (const file of glob('src/**/*.{ts,tsx}', { cwd: root })) {
    if (/\.(test|contract)\.tsx?$|\/testing\//.test(file)) continue
    if (SOCKET_FACT.test(await readFile(join(root, file), 'utf8'))) readers.push(file)
  }

  // A closed socket knows none of them, and asking OpenSSL for those of a closed connection ends the process.
  assert.deepEqual(
    readers.filter((file) => !SOCKET_READERS.includes(file)),
    [],
  )
  assert.ok(readers.length > 2, 'the scan found nothing, so it proves nothing')
})

/** What a dependency does not promise, and the one file that may use it (decision 155). */
const ADAPTERS: readonly { readonly uses: RegExp; readonly adapter: string }[] = [
  {
    uses: /['"]ssh2\/|\b_(?:protocol|handlers|kexinit|kex|cipher|packetRW)\b/,
    adapter: 'src/sessions/ssh/transport/ssh2.ts',
  },
  { uses: /from '@xmldom\/xmldom'/, adapter: 'src/edge/login/saml/saml-metadata.ts' },
  { uses: /\bsetFlagsFromString\b|\brunInNewContext\b/, adapter: 'src/base/process/garbage-collector.ts' },
  { uses: /\.transfer(?:ToFixedLength)?\(/, adapter: 'src/base/io/memory/detach-buffer.ts' },
  { uses: /\b_handle\b|'node:ffi'/, adapter: 'src/base/io/sockets/unsent-limit.ts' },
]

test('what a dependency does not promise is used by its adapter alone', async () => {
  const users: string[][] = ADAPTERS.map(() => [])
  const privateMembers: string[] = []
  for await (const file of glob('src/**/*.{ts,tsx}', { cwd: root })) {
    if (/\.(test|contract|d)\.tsx?$|\/testing\//.test(file)) continue
    const text = await readFile(join(root, file), 'utf8')
    ADAPTERS.forEach(({ uses }, index) => {
      if (uses.test(text)) users[index]!.push(file)
    })
    if (/\w\??\._[a-z]/i.test(text)) privateMembers.push(file)
  }

  assert.deepEqual(
    users,
    ADAPTERS.map(({ adapter }) => [adapter]),
  )
  assert.deepEqual(privateMembers.sort(), [
    'src/base/io/sockets/unsent-limit.ts',
    'src/sessions/ssh/transport/ssh2.ts',
  ])
})

/**
 * Where types may have a name that another part has too: pages and the JSON they read show what the server has, the client of
 * the API has its resources, and CEL has the words of its specification.
 */
const OWN_TYPE_NAMES = /^src\/(?:web|api-client|cel)\/|\/page-data\.ts$/

test('no two files export a type of the same name', async () => {
  const files = new Map<string, string[]>()
  for await (const file of glob('src/**/*.ts', { cwd: root })) {
    if (/\.(test|contract|d)\.ts$|\/testing\//.test(file) || OWN_TYPE_NAMES.test(file)) continue
    const text = await readFile(join(root, file), 'utf8')
    for (const [, name] of text.matchAll(/^export (?:abstract )?(?:interface|type|class) (\w+)/gm))
      files.set(name!, [...(files.get(name!) ?? []), file])
  }

  assert.ok(files.size > 500)
  assert.deepEqual(
    [...files].filter(([, { length }]) => length > 1),
    [],
  )
})

/** Lists of one declaration a file. */
const LISTS = [
  'src/resources',
  'src/resources/modules',
  'src/edge/modules',
  'src/policy/actions',
  'src/edge/policy/actions',
]

test('no folder has more than 25 source files side by side, but lists of declarations', () => {
  const counts = new Map<string, number>()
  for (const file of graph.files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)

  assert.deepEqual(
    [...counts].filter(([folder, count]) => count > 25 && !LISTS.includes(folder)),
    [],
  )
})

test('direct production dependencies stay few', async () => {
  const { program, pages } = await listLibraries(root)
  const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    devDependencies: Record<string, string>
  }

  assert.ok(program.length > 0 && program.length <= 25, program.join(' '))
  for (const name of ['node', ...program, ...pages])
    assert.match(devDependencies[name] ?? '', /^\d+\.\d+\.\d+/, `${name} is not pinned`)
})
