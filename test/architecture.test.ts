import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')

/** Who may import whom. Everyone may import `base`; `server` wires the parts and may import all of them. */
const DIRECTIONS: Record<string, readonly string[]> = {
  base: [],
  protocol: [],
  resources: [],
  store: ['resources'],
  auth: ['resources', 'store'],
  certs: ['resources', 'store'],
  dns: ['resources', 'store'],
  events: ['resources', 'store'],
  naming: ['resources', 'store'],
  sessions: ['protocol', 'resources', 'auth', 'naming'],
  cluster: ['protocol', 'auth', 'sessions'],
  edge: ['resources', 'certs', 'sessions'],
  api: ['resources', 'store', 'auth', 'certs', 'naming', 'sessions', 'events'],
  'api-cli': ['api', 'resources'],
  dashboard: ['resources', 'store', 'auth', 'api'],
  agent: ['protocol'],
  web: [],
}

/** The one executable loads each part when it is asked for. */
const LAZY: Record<string, readonly string[]> = { 'cli.ts': ['server', 'agent', 'api-cli'] }

const IMPORT = /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s*'([^']+)'|(?:^|[^.\w])import\(\s*'([^']+)'\s*\)/g

interface Import {
  readonly file: string
  readonly from: string
  readonly to: string
  readonly target: string
  readonly lazy: boolean
}

async function importsBetweenParts(): Promise<Import[]> {
  const found: Import[] = []
  for await (const file of glob('src/**/*.{ts,tsx}', { cwd: root })) {
    if (/\.(test|contract)\.tsx?$|\/testing\//.test(file)) continue
    const source = await readFile(join(root, file), 'utf8')
    for (const [, fixed, lazy] of source.matchAll(IMPORT)) {
      const specifier = fixed ?? lazy!
      if (!specifier.startsWith('.')) continue
      const target = relative(root, join(root, dirname(file), specifier))
      const from = file.split('/')[1]!
      const to = target.split('/')[1]!
      if (from !== to) found.push({ file, from, to, target, lazy: lazy !== undefined })
    }
  }
  return found
}

test('parts import each other only in the directions that are drawn', async () => {
  const imports = await importsBetweenParts()

  const wrong = imports.filter(({ from, to, lazy }) => {
    if (to === 'base' || from === 'server') return false
    return !DIRECTIONS[from]?.includes(to) && !(lazy && LAZY[from]?.includes(to))
  })

  assert.deepEqual(
    wrong.map(({ file, target }) => `${file} imports ${target}`),
    [],
  )
  assert.ok(imports.length > 50, 'the scan found no imports, so it proves nothing')
})

test('parts enter each other by the front door', async () => {
  const imports = await importsBetweenParts()

  const back = imports.filter(
    ({ to, target, lazy }) => to !== 'base' && !lazy && !/^src\/[a-z-]+\/index\.ts$/.test(target),
  )

  assert.deepEqual(
    back.map(({ file, target }) => `${file} imports ${target}`),
    [],
  )
})

/** The files that may ask a socket what it knows of its connection, each when the connection is made. */
const SOCKET_READERS = [
  'src/base/io/socket-ends.ts',
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

/** Decision 128: the pinned runtime is installed through npm, but is no library. */
const RUNTIME = 'node'

test('direct production dependencies stay few', async () => {
  const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }

  const libraries = Object.keys(dependencies).filter((name) => name !== RUNTIME)
  assert.ok(libraries.length <= 25, libraries.join(' '))
  for (const [name, version] of Object.entries(dependencies))
    assert.match(version, /^\d+\.\d+\.\d+/, `${name} is not pinned`)
})
