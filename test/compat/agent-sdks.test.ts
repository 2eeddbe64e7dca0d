import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { fetchHost } from '../support/agents.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { reasonToSkip } from '../support/required-programs.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createVenv } from './suites.ts'

/** What a program with an SDK binds. */
interface PlannedEndpoint {
  readonly url: string
  readonly upstream: string
  readonly trafficPolicy?: string
  readonly bindings?: readonly string[]
  readonly pooling?: boolean
  readonly metadata?: string
}

interface Outcome {
  readonly url: string
  readonly error: string
}

/** Binds endpoints with a program until the test ends. */
async function bindWith(
  t: TestContext,
  [program, ...args]: readonly string[],
  { credentials, caPem }: TestPlatform,
  endpoints: readonly PlannedEndpoint[],
): Promise<Outcome[]> {
  const child = spawn(program!, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(async () => {
    child.stdin.end()
    if (child.exitCode === null) await once(child, 'exit')
  })
  const defaults = { trafficPolicy: '', bindings: [], pooling: false, metadata: '' }
  const plan = {
    address: credentials.agent_addr,
    authtoken: credentials.authtoken,
    ca: caPem,
    endpoints: endpoints.map((endpoint) => ({ ...defaults, ...endpoint })),
  }
  child.stdin.write(`${JSON.stringify(plan)}\n`)
  for await (const line of createInterface(child.stdout)) return JSON.parse(line)
  throw new Error('the program ended early')
}

const serve = async (t: TestContext, text: string) =>
  `http://127.0.0.1:${await startHttp(t, (_request, response) => response.end(text))}`

/** Forwards `/inside`, and rejects `/secret`. */
const FRONT_POLICY = JSON.stringify({
  on_http_request: [
    { expressions: ["req.url.path == '/secret'"], actions: [{ type: 'deny', config: { status_code: 404 } }] },
    {
      expressions: ["req.url.path == '/inside'"],
      actions: [{ type: 'forward-internal', config: { url: 'https://inside.internal' } }],
    },
  ],
})

/** What every SDK can do: a policy, an internal endpoint, and the reason of a rejection. */
async function assertPolicies(t: TestContext, program: readonly string[]): Promise<TestPlatform> {
  const platform = await startPlatform(t)
  const outcomes = await bindWith(t, program, platform, [
    {
      url: 'http://front.adit.localhost',
      upstream: await serve(t, 'front'),
      trafficPolicy: FRONT_POLICY,
    },
    { url: 'https://inside.internal', upstream: await serve(t, 'inside') },
    {
      url: 'http://wrong.adit.localhost',
      upstream: 'http://127.0.0.1:1',
      trafficPolicy: '{"on_http_request":[{"actions":[{"type":"denny"}]}]}',
    },
  ])

  const responses = await Promise.all(
    ['/', '/inside', '/secret'].map((path) => fetchHost(platform, 'front.adit.localhost', path)),
  )
  assert.deepEqual(
    responses.map(({ status, body }) => (status === 200 ? body : status)),
    ['front', 'inside', 404],
  )
  assert.deepEqual(
    outcomes.map(({ error }) => error !== ''),
    [false, false, true],
  )
  assert.match(outcomes[1]!.url, /^https:\/\/inside\.internal/)
  assert.match(outcomes[2]!.error, /there is no action "denny"; did you mean deny\?/)
  assert.match(outcomes[2]!.error, /2201/)
  assert.equal((await fetchHost(platform, 'inside.internal')).status, 404)
  return platform
}

test('the official Python SDK 1.4.0 binds internal endpoints and endpoints with policies', {
  skip: reasonToSkip('python3'),
}, async (t) => {
  const python = createVenv(createTempDir(), ['ngrok==1.4.0'])
  await assertPolicies(t, [python, join(import.meta.dirname, 'agent_sdk.py')])
})

const GO_MODULE = 'golang.ngrok.com/ngrok/v2'

for (const version of ['v2.0.0', 'v2.1.1'])
  test(`the official Go SDK ${version} binds endpoints with policies and bindings, and pools`, {
    skip: reasonToSkip('go'),
  }, async (t) => {
    if (spawnSync('go', ['mod', 'download', `${GO_MODULE}@${version}`]).status !== 0)
      return t.skip(`the registry that GOPROXY names lacks ${version}`)
    const dir = createTempDir()
    writeFileSync(join(dir, 'go.mod'), `module agent\n\ngo 1.25\n\nrequire ${GO_MODULE} ${version}\n`)
    copyFileSync(join(import.meta.dirname, 'agent_sdk.go'), join(dir, 'main.go'))
    const env = { ...process.env, GOFLAGS: '-mod=mod' }
    execFileSync('go', ['build', '-o', 'agent', '.'], { cwd: dir, env, stdio: 'pipe' })
    const program = [join(dir, 'agent')]

    const platform = await assertPolicies(t, program)

    const pooled = { url: 'http://pool.adit.localhost', pooling: true }
    const outcomes = await bindWith(t, program, platform, [
      { ...pooled, upstream: await serve(t, 'one') },
      { ...pooled, upstream: await serve(t, 'two') },
      { url: 'http://pool.adit.localhost', upstream: 'http://127.0.0.1:1' },
      { url: 'http://web.default', upstream: 'http://127.0.0.1:1', bindings: ['kubernetes'] },
      { url: 'https://web.default', upstream: 'http://127.0.0.1:1', bindings: ['kubernetes'] },
      { url: 'https://own.internal', upstream: 'http://127.0.0.1:1', bindings: ['internal'] },
    ])
    const bodies = new Set<string>()
    for (let request = 0; request < 4; request++)
      bodies.add((await fetchHost(platform, 'pool.adit.localhost')).body)

    assert.deepEqual(bodies, new Set(['one', 'two']))
    assert.deepEqual(
      outcomes.map(({ error }) => error !== ''),
      [false, false, true, false, true, false],
    )
    assert.match(outcomes[4]!.error, /18018/)
    const { body } = await platform.call('GET', '/endpoints')
    const bindings = Object.fromEntries(
      body.endpoints.map((endpoint: { url: string; bindings: string[] }) => [
        endpoint.url,
        endpoint.bindings[0],
      ]),
    )
    assert.equal(bindings['http://web.default'], 'kubernetes')
    assert.equal(bindings['https://own.internal'], 'internal')
  })
