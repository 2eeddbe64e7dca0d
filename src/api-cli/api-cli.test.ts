import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ADIT } from '../../test/support/adit-program.ts'
import { shareApi, type TestApi } from '../../test/support/api.ts'
import { certificates, nextNumber } from '../../test/support/samples.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { routes } from '../api/all-routes.ts'
import { commandsOf } from './commands.ts'
import { runApi } from './run.ts'

const { fresh } = await shareApi()

interface CommandResult {
  readonly code: number
  readonly out: string
  readonly errors: string
}

async function adit(
  args: string[],
  environment: Record<string, string> = {},
  columns?: number,
): Promise<CommandResult> {
  const output = { out: '', errors: '' }
  const code = await runApi(args, {
    environment: { HOME: '/nonexistent', ...environment },
    columns,
    out: (text) => {
      output.out += text
    },
    error: (text) => {
      output.errors += text
    },
  })
  return { code, ...output }
}

function keys(api: TestApi): Record<string, string> {
  return { ADIT_API_URL: api.url, ADIT_API_KEY: api.account.apiKey.reveal() }
}

test('resources are created, read, listed, updated and deleted from the command line', async () => {
  const api = await fresh()
  const run = (...args: string[]) => adit(args, keys(api))
  const domain = `cli${nextNumber()}.example.com`

  const created = await run(
    'reserved-domains',
    'create',
    '--domain',
    domain,
    '--description=made by hand',
    '--certificate-management-policy.private-key-type',
    'ecdsa',
  )

  assert.equal(created.code, 0, created.errors)
  assert.equal(created.errors, '')
  const { id, certificate_management_policy } = JSON.parse(created.out)
  assert.deepEqual(certificate_management_policy, { authority: 'letsencrypt', private_key_type: 'ecdsa' })
  assert.equal(JSON.parse((await run('reserved-domains', 'get', id)).out).domain, domain)
  const updated = await run('reserved-domains', 'update', id, '--metadata', '{"a":1}')
  assert.equal(JSON.parse(updated.out).metadata, '{"a":1}')
  const listed = JSON.parse((await run('reserved-domains', 'list', '--limit', '1')).out)
  assert.equal(listed.reserved_domains[0].id, id)
  assert.equal((await run('reserved-domains', 'certificate-management-policy', 'delete', id)).code, 0)
  const deleted = await run('reserved-domains', 'delete', id)
  assert.deepEqual([deleted.code, deleted.out, deleted.errors], [0, '', ''])
  assert.equal((await api.call('GET', `/reserved_domains/${id}`)).status, 404)
})

test('lists, maps, switches, numbers, JSON and files are parsed', async () => {
  const api = await fresh()
  const run = async (...args: string[]) => {
    const { code, out, errors } = await adit(args, keys(api))
    assert.equal(code, 0, errors)
    return JSON.parse(out)
  }
  const file = join(createTempDir(), 'ca.pem')
  writeFileSync(file, (await certificates()).ca.caPem)

  const rules = await run(
    'credentials',
    'create',
    '--acl',
    'bind:a.example.com',
    '--acl',
    'bind:x=y,bind:*=z',
  )
  assert.deepEqual(rules.acl, ['bind:a.example.com', 'bind:x=y', 'bind:*=z'])
  assert.deepEqual((await run('credentials', 'create', '--acl', '["*"]')).acl, ['*'])
  const group = await run('backends-tunnel-group', 'create', '--labels', 'a=b', '--labels', 'c=d')
  assert.deepEqual(group.labels, { a: 'b', c: 'd' })
  const answer = await run(
    'backends-http-response',
    'create',
    '--status-code',
    '404',
    '--json',
    '{"body":"no"}',
  )
  assert.deepEqual([answer.status_code, answer.body], [404, 'no'])
  const weighted = await run('backends-weighted', 'create', '--backends', `${answer.id}=10`)
  assert.deepEqual(weighted.backends, { [answer.id]: 10 })
  const authority = await run('certificate-authorities', 'create', '--ca-pem', `@${file}`)
  assert.equal(authority.subject_common_name, 'test root')
  const edge = await run('edges-tls', 'create', '--tls-termination.terminate-at', 'edge')
  const mutual = ['edges-tls', 'mutual-tls', 'replace', edge.id, '--certificate-authority-ids', authority.id]
  assert.equal((await run(...mutual)).enabled, true)
  assert.equal((await run(...mutual, '--no-enabled')).enabled, false)
  assert.equal((await run(...mutual, '--enabled')).enabled, true)
  assert.equal((await run(...mutual, '--enabled=false')).enabled, false)
  assert.equal((await run(...mutual, '--enabled', 'false')).enabled, false)
  assert.equal((await run('ip-policies', 'create', '--description', '@@home')).description, '@home')
  const target = ['event-destinations', 'create', '--target.monitoring', '{"api_key":"k"}']
  assert.equal(
    (await run(...target, '--target.monitoring.ddsite', 'datadoghq.eu')).target.monitoring.ddsite,
    'datadoghq.eu',
  )
})

test('the executable prints the response and reads a text from standard input', async () => {
  const api = await fresh()

  const out = await new Promise<string>((resolve) => {
    const environment = { PATH: process.env.PATH, HOME: '/nonexistent', ...keys(api) } as NodeJS.ProcessEnv
    const child = execFile(
      ADIT,
      ['api', 'ip-policies', 'create', '--metadata', '@-'],
      { env: environment },
      (_error, printed, errors) => resolve(printed || errors),
    )
    child.stdin!.end('from a pipe')
  })

  assert.equal(JSON.parse(out).metadata, 'from a pipe')
})

test('routes below an edge take both ids', async () => {
  const api = await fresh()
  const edge = await api.call.create('/edges/https', {})
  const run = (...args: string[]) => adit(args, keys(api))

  const created = await run(
    'edges-https-routes',
    'create',
    edge.id,
    '--match-type',
    'path_prefix',
    '--match',
    '/',
  )
  assert.equal(created.code, 0, created.errors)
  const { id } = JSON.parse(created.out)
  const got = await run('edges-https-routes', 'get', edge.id, id)
  assert.equal(JSON.parse(got.out).match, '/')
})

test('the name of a resource may be split into words', async () => {
  const api = await fresh()
  await api.call.create('/edges/https', { description: 'front' })
  const run = async (...args: string[]) => JSON.parse((await adit(args, keys(api))).out)

  const listed = await run('edges', 'https', 'list')
  const backends = await run('backends', 'http-response', 'list')

  assert.equal(listed.https_edges[0].description, 'front')
  assert.deepEqual(backends.backends, [])
})

test('a list is a table on a terminal, JSON elsewhere and with --json', async () => {
  const api = await fresh()
  await api.call.create('/ip_policies', { description: 'office' })
  const list = (args: string[], columns?: number, more = {}) =>
    adit(['ip-policies', 'list', ...args], { ...keys(api), ...more }, columns)

  assert.match(
    (await list([], 120)).out,
    /^\u001b\[1mID +DESCRIPTION +CREATED_AT\u001b\[0m\nipp_\w+ +office /,
  )
  assert.match((await list([], 120, { NO_COLOR: '1' })).out, /^ID +DESCRIPTION/)
  for (const printed of [await list([]), await list(['--json'], 120)])
    assert.equal(JSON.parse(printed.out).ip_policies[0].description, 'office')
})

test('an error is a sentence on stderr, and the exit code is 1', async () => {
  const api = await fresh()
  const run = (...args: string[]) => adit(args, keys(api))
  for (const [args, sentence] of [
    [['no-such', 'list'], /has no command "no-such"/],
    [['ip-policies', 'no-such'], /has no command "no-such"\. Available: create, get/],
    [['ip-policies', 'get'], /id is missing\. Write: adit api ip-policies get ID/],
    [['ip-policies', 'get', 'a', 'b'], /"b" is one argument too many/],
    [['ip-policies', 'create', '--descripton', 'x'], /no flag --descripton/],
    [
      ['reserved-domains', 'create', '--authority', 'x'],
      /Did you mean --certificate-management-policy\.authority/,
    ],
    [['ip-policies', 'create', '--description'], /--description needs a value/],
    [['backends-http-response', 'create', '--status-code', 'ok'], /--status-code must be a number, not "ok"/],
    [['reserved-addrs', 'create', '--region', 'mars'], /region must be one of au, eu/],
    [['backends-tunnel-group', 'create', '--labels', 'a'], /must be KEY=VALUE/],
    [['event-destinations', 'create', '--target', '{'], /--target is not valid JSON/],
    [
      ['certificate-authorities', 'create', '--ca-pem', '@/nonexistent'],
      /The file \/nonexistent cannot be read/,
    ],
    [
      ['ip-policies', 'get', `ipp_${'0'.repeat(27)}`],
      /There is no IP policy with the id .*\nERROR: {2}ERR_ADIT_404/,
    ],
    [['ip-policies', 'list', '--limit', '500'], /limit must be a whole number from 1 to 100/],
  ] as const) {
    const ended = await run(...args)
    assert.equal(ended.code, 1, args.join(' '))
    assert.equal(ended.out, '', args.join(' '))
    assert.match(ended.errors, sentence)
    for (const line of ended.errors.trimEnd().split('\n')) assert.match(line, /^ERROR: {2}/)
  }
})

test('a mistake on the command line is answered with these exact sentences', async () => {
  const get = 'adit api ip-policies get ID'
  for (const [line, sentence] of [
    [
      'ip-policies nosuch',
      '"adit api ip-policies" has no command "nosuch". Available: create, get, list, update, delete.',
    ],
    ['ip-policies get', `id is missing. Write: ${get}`],
    ['--api-key k ip-policies get', `id is missing. Write: ${get}`],
    ['ip-policies get a b', `"b" is one argument too many. Write: ${get}`],
    ['ip-policies create --description', '--description needs a value.'],
    ['ip-policies list --api-key', '--api-key needs a value.'],
    ['ip-policies list --api-url=', '--api-url needs a value.'],
    [
      'reserved-domains create --authority x',
      '"adit api reserved-domains create" has no flag --authority. Did you mean --certificate-management-policy.authority? Add --help to see all.',
    ],
  ] as const)
    assert.deepEqual(await adit(line.split(' ')), { code: 1, out: '', errors: `ERROR:  ${sentence}\n` })
})

async function startLocal(api: TestApi): Promise<string> {
  const home = createTempDir()
  const dataDir = join(home, '.local', 'share', 'adit')
  mkdirSync(dataDir, { recursive: true })
  const credentials = { api_url: api.url, api_key: api.account.apiKey.reveal() }
  writeFileSync(join(dataDir, 'credentials.json'), JSON.stringify(credentials))
  return home
}

test('a server on this machine is found automatically, and its key is sent to no other', async () => {
  const api = await fresh()
  const HOME = await startLocal(api)
  const dataDir = join(HOME, '.local', 'share', 'adit')

  for (const environment of [{ HOME }, { HOME: '/nonexistent', ADIT_DATA_DIR: dataDir }])
    assert.equal((await adit(['api-keys', 'list'], environment as Record<string, string>)).code, 0)
  const elsewhere = await adit(['api-keys', 'list', '--api-url', 'http://127.0.0.1:1'], { HOME })
  assert.match(elsewhere.errors, /No API key was found/)
  const unreachable = await adit(['api-keys', 'list', '--api-url=http://127.0.0.1:1', '--api-key=k'], {
    HOME,
  })
  assert.match(unreachable.errors, /cannot be reached/)
  const wrong = await adit(['api-keys', 'list', '--api-key', 'wrong'], { HOME })
  assert.match(wrong.errors, /Unknown API key/)
  const nothing = await adit(['api-keys', 'list'])
  assert.match(nothing.errors, /No API key was found/)
})

test('help lists every resource, every command and every flag', async () => {
  const commands = commandsOf(routes)
  const all = await adit(['--help'])
  assert.equal(all.code, 0)
  for (const resource of new Set(commands.map(({ words }) => words[0]!)))
    assert.match(all.out, new RegExp(`^  ${resource} `, 'm'))
  assert.equal((await adit([])).out, all.out)

  const group = await adit(['edges-https-routes', '--help'])
  for (const { words, ids } of commands.filter((command) => command.words[0] === 'edges-https-routes'))
    assert.ok(
      group.out.includes([...words.slice(1), ...ids.map((id) => id.toUpperCase())].join(' ')),
      words.join(' '),
    )

  const one = await adit(['ssh-user-certificates', 'create', '--help'])
  for (const flag of [
    'ssh-certificate-authority-id',
    'public-key',
    'principals',
    'critical-options',
    'valid-until',
  ])
    assert.ok(one.out.includes(`--${flag} `), flag)
  assert.match(one.out, /--public-key TEXT +required/)
  assert.match(one.out, /POST \/ssh_user_certificates/)
  const bare = await adit(['ip-policies'])
  assert.equal(bare.code, 1)
  assert.match(bare.errors, /create/)
})

test('every route has its own command', () => {
  const words = commandsOf(routes).map((command) => command.words.join(' '))

  assert.equal(new Set(words).size, words.length)
  for (const each of words) assert.match(each, /^[a-z0-9-]+( [a-z0-9-]+)+$/)
})

test('the command line loads the declarations and not the server', async () => {
  const script = `import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) { console.error(url); return next(url, context) } })
const { runApi } = await import('${join(import.meta.dirname, 'run.ts')}')
await runApi(['--help'])`

  const loaded = await new Promise<string>((resolve) => {
    execFile(process.execPath, ['--input-type=module', '-e', script], (_error, _out, errors) =>
      resolve(errors),
    )
  })

  assert.match(loaded, /api\/all-routes\.ts/)
  for (const part of [
    'fastify',
    'node_modules/pg/',
    'src/store/',
    'src/auth/',
    'src/certs/',
    'src/sessions/',
  ])
    assert.ok(!loaded.includes(part), `${part} is loaded`)
})
