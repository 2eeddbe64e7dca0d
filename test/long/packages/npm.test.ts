// The npm packages as users install them: packed, installed without a registry, and run on every supported version of Node.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { startProgram } from '../../support/agent-process.ts'
import { startHttp } from '../../support/local-server.ts'
import { startServerProcess } from '../../support/server-process.ts'
import { createTempDir } from '../../support/temp-dir.ts'

const root = join(import.meta.dirname, '..', '..', '..')

/** The lowest supported version and the newest of each supported line; npm carries the runtimes. */
const SUPPORTED = ['22.19.0', '22', '24']
const REJECTED = ['22.18.0', '20', '18']
const MAX_BYTES = { 'adit-server': 120e6, 'adit-agent': 30e6 } as const
type PackageName = keyof typeof MAX_BYTES

let scratch: string
let tarballs: Record<PackageName, string>

/** Builds the packages; returns their tarballs in the directory. */
async function pack(directory: string): Promise<typeof tarballs> {
  execFileSync(process.execPath, [join(root, 'scripts', 'build.ts')], { stdio: 'pipe' })
  execFileSync('npm', ['pack', '.', './dist/adit-agent', '--pack-destination', directory], {
    cwd: root,
    stdio: 'pipe',
  })
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  return {
    'adit-server': join(directory, `adit-server-${version}.tgz`),
    'adit-agent': join(directory, `adit-agent-${version}.tgz`),
  }
}

before(async () => {
  scratch = createTempDir()
  tarballs = await pack(scratch)
})

test('another build gives the same packages, byte for byte (P60)', async () => {
  const again = await pack(createTempDir())

  for (const name of ['adit-server', 'adit-agent'] as const)
    assert.ok((await readFile(tarballs[name])).equals(await readFile(again[name])), name)
})

/** The directory of a `node` program of this version. */
async function installNode(version: string): Promise<string> {
  const directory = join(scratch, `node-${version}`)
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, 'package.json'), '{}')
  const options = { cwd: directory, stdio: 'pipe' } as const
  execFileSync('npm', ['install', '--no-audit', '--ignore-scripts', `node@${version}`], options)
  execFileSync(process.execPath, ['installArchSpecificPackage.js'], {
    ...options,
    cwd: join(directory, 'node_modules', 'node'),
  })
  return join(directory, 'node_modules', 'node', 'bin')
}

/** An environment in which `node` is this version and npm cannot reach a registry. */
function environment(nodeDir: string, home: string): Record<string, string> {
  return {
    PATH: `${nodeDir}:${process.env.PATH}`,
    HOME: home,
    ADIT_DATA_DIR: join(home, 'data'),
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
  }
}

async function installGlobally(name: PackageName, nodeDir: string) {
  const home = createTempDir()
  const env = environment(nodeDir, home)
  const prefix = join(home, 'prefix')
  execFileSync('npm', ['install', '--global', '--prefix', prefix, tarballs[name]], { env, stdio: 'pipe' })
  return { home, env, prefix, adit: join(prefix, 'bin', 'adit') }
}

/** A project that has the package installed and whose `main.ts` was type-checked and compiled. */
async function createProject(env: Record<string, string>, main: string): Promise<string> {
  const project = createTempDir()
  await writeFile(join(project, 'package.json'), '{"type":"module"}')
  await writeFile(join(project, 'main.ts'), main)
  const run = (program: string, args: string[]) =>
    execFileSync(program, args, { cwd: project, env, stdio: 'pipe' })
  run('npm', ['install', tarballs['adit-server']])
  // The defaults of a project without Node's types, and declarations are checked too.
  run(join(root, 'node_modules', '.bin', 'tsc'), [
    ...['--strict', '--module', 'nodenext', '--target', 'es2023', '--lib', 'es2023,dom', '--types', ''],
    'main.ts',
  ])
  return project
}

/** Requests a public URL from this machine, whether or not it resolves names below localhost. */
function request(url: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, headers: { host: new URL(url).host } }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        body += chunk
      })
      response.on('end', () => resolve(body))
    }).on('error', reject)
  })
}

const portOf = (url: string | null | undefined) => Number(new URL(url!).port)

for (const version of SUPPORTED) {
  test(`on Node ${version}, the installed package runs a server with its pages, and an agent`, async (t) => {
    const { home, env, prefix, adit } = await installGlobally('adit-server', await installNode(version))
    const local = await startHttp(t, (_request, response) => response.end('hello from the local service'))

    const server = await startServerProcess(t, env.ADIT_DATA_DIR!, [], { program: adit, environment: env })
    assert.doesNotMatch(server.output(), /warning/i)
    const page = await fetch(`${server.url}/dashboard/`)
    assert.match(await page.text(), /<script type="module"/)
    const agent = startProgram(
      t,
      ['http', String(local), '--scheme=http', '--log=stdout', '--web-addr=127.0.0.1:0'],
      {
        env,
        launcher: adit,
      },
    )
    await agent.until(({ stdout }) => /msg="started tunnel".* url=/.test(stdout))
    const url = / url=(\S+)/.exec(agent.stdout)![1]!

    assert.equal(await request(url, portOf(server.credentials.http_url)), 'hello from the local service')
    assert.ok(sizeOf(prefix) <= MAX_BYTES['adit-server'])
    const list = spawnSync(adit, ['api', 'reserved-domains', 'list'], { env, encoding: 'utf8' })
    assert.equal(list.status, 0, list.stderr)
    const backup = spawnSync(adit, ['server', 'backup', join(home, 'backup')], { env, encoding: 'utf8' })
    assert.equal(backup.status, 0, backup.stderr)
    await server.stop()
  })

  test(`on Node ${version}, a project of its own type-checks against the library and runs it`, async (t) => {
    const nodeDir = await installNode(version)
    const { env, adit } = await installGlobally('adit-server', nodeDir)
    const server = await startServerProcess(t, env.ADIT_DATA_DIR!, [], { program: adit, environment: env })
    const local = await startHttp(t, (_request, response) => response.end('hello'))
    const project = await createProject(
      env,
      `import { type AgentHandle, connect, forward, type ForwardedTunnel } from 'adit-server'
const tunnel: ForwardedTunnel = await forward({ addr: ${local}, schemes: ['http'] })
const agent: AgentHandle = await connect({ metadata: 'from a project' })
const second = await agent.forward({ addr: ${local}, schemes: ['http'], compression: true })
// @ts-expect-error A tunnel needs an address.
const invalid = () => agent.forward({ compression: true })
console.log(JSON.stringify([tunnel.url, second.url, typeof invalid]))
setTimeout(() => void Promise.all([tunnel.close(), agent.close()]), 1e9)
`,
    )
    const program = startProgram(t, [join(project, 'main.js')], { env, launcher: join(nodeDir, 'node') })
    await program.until(({ stdout }) => stdout.endsWith(']\n'))
    const [first, second] = JSON.parse(program.stdout)

    for (const url of [first, second])
      assert.equal(await request(url, portOf(server.credentials.http_url)), 'hello')
    await server.stop()
  })
}

for (const version of SUPPORTED)
  test(`on Node ${version}, a project of its own manages an account with adit-server/api`, async (t) => {
    const nodeDir = await installNode(version)
    const { env, adit } = await installGlobally('adit-server', nodeDir)
    const server = await startServerProcess(t, env.ADIT_DATA_DIR!, [], { program: adit, environment: env })
    const project = await createProject(
      env,
      `import { ApiError, createClient, type IPPolicy } from 'adit-server/api'
const client = createClient()
const created: IPPolicy = await client.ipPolicies.create({ description: 'from a project' })
const descriptions: string[] = []
for await (const { description } of client.ipPolicies.listAll({ limit: 1 })) descriptions.push(description)
await client.ipPolicies.delete(created.id)
// @ts-expect-error A rule needs an action.
const invalid = () => client.ipPolicyRules.create({ cidr: '10.0.0.0/8', ip_policy_id: created.id })
const error: unknown = await client.ipPolicies.get(created.id).catch((error: unknown) => error)
console.log(JSON.stringify([descriptions, error instanceof ApiError && error.status, typeof invalid]))
`,
    )
    const { api_url: ADIT_API_URL, api_key: ADIT_API_KEY } = server.credentials
    const program = execFileSync(join(nodeDir, 'node'), [join(project, 'main.js')], {
      env: { ...env, ADIT_API_URL, ADIT_API_KEY },
      encoding: 'utf8',
    })

    assert.deepEqual(JSON.parse(program), [['from a project'], 404, 'function'])
    await server.stop()
  })

test('the agent alone is small and runs by npx', async () => {
  const { env, prefix, adit } = await installGlobally('adit-agent', await installNode(SUPPORTED[0]!))

  const npx = execFileSync('npx', ['--yes', tarballs['adit-agent'], 'version'], { env })

  assert.match(String(npx), /^adit version /)
  assert.ok(sizeOf(prefix) <= MAX_BYTES['adit-agent'])
  const { status, stderr } = spawnSync(adit, ['server'], { env, encoding: 'utf8' })
  assert.equal(status, 1)
  assert.match(stderr, /npm install --global adit-server/)
})

for (const version of REJECTED) {
  test(`Node ${version} is rejected with one sentence`, async () => {
    const nodeDir = await installNode(version)
    const home = createTempDir()
    execFileSync('tar', ['-xzf', tarballs['adit-server'], '-C', home])

    const { status, stderr, stdout } = spawnSync(
      join(nodeDir, 'node'),
      [join(home, 'package', 'bin', 'adit.cjs'), 'version'],
      { encoding: 'utf8' },
    )

    assert.equal(status, 1)
    assert.match(stderr, /^ERROR: {2}Adit needs Node 22\.19 or newer, and this is Node [\d.]+\..+\n$/)
    assert.equal(stdout, '')
  })
}

/** The bytes that a directory takes on the disk. */
function sizeOf(directory: string): number {
  const [kilobytes] = execFileSync('du', ['-sk', directory], { encoding: 'utf8' }).split('\t')
  return Number(kilobytes) * 1024
}
