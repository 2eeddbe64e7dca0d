import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import ngrok from '@ngrok/ngrok'
import { cleanEnv, startProgram } from '../support/agent-process.ts'
import { fetchHost, readPolicyActions, startAgent } from '../support/agents.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { listen, startHttp } from '../support/local-server.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'

const HOST = 'policy.adit.localhost'

/** A policy that answers with this text and this status. */
const answerWith = (text: string, status = 203) => ({
  on_http_request: [
    {
      expressions: ["req.url.path == '/'"],
      actions: [{ type: 'custom-response', config: { status_code: status, body: text } }],
    },
  ],
})

const INVALID = 'on_http_request:\n  - actions:\n      - type: denny\n'

function environment({ credentials }: TestPlatform) {
  const home = createTempDir()
  const env = cleanEnv(home, {
    ADIT_CONNECT_URL: credentials.agent_addr,
    ADIT_CONNECT_CAS: credentials.ca_file,
    ADIT_AUTHTOKEN: credentials.authtoken,
  })
  const write = (name: string, content: string) => {
    const file = join(home, name)
    writeFileSync(file, content)
    return file
  }
  return { env, write }
}

async function startUpstream(t: TestContext): Promise<number> {
  return startHttp(t, (_request, response) => response.end('upstream'))
}

test('the flags give an endpoint a policy from a file or a URL', async (t) => {
  const platform = await startPlatform(t)
  const port = await startUpstream(t)
  const { env, write } = environment(platform)
  const policies = createServer((_request, response) =>
    response.end(JSON.stringify(answerWith('from a URL'))),
  )
  const url = `http://127.0.0.1:${await listen(t, policies)}/policy`
  const file = write('policy.yml', JSON.stringify(answerWith('from a file')))

  for (const [flag, text] of [
    [`--traffic-policy-file=${file}`, 'from a file'],
    [`--traffic-policy-url=${url}`, 'from a URL'],
  ] as const) {
    const program = startProgram(
      t,
      ['http', String(port), `--url=http://${HOST}`, '--web-addr=false', flag],
      { env },
    )
    await program.until(({ stdout }) => stdout.includes('Forwarding'))
    const { status, body } = await fetchHost(platform, HOST)
    program.child.kill('SIGTERM')
    await program.waitForExit()
    assert.deepEqual([status, body], [203, text])
  }
})

test('a policy with a mistake ends the command with its line', async (t) => {
  const platform = await startPlatform(t)
  const { env, write } = environment(platform)

  const program = startProgram(
    t,
    ['http', '80', '--web-addr=false', `--traffic-policy-file=${write('policy.yml', INVALID)}`],
    { env },
  )
  const code = await program.waitForExit()

  assert.equal(code, 1)
  assert.match(program.stderr, /did you mean deny\? \(line 3 of the policy\)/)
})

test('configuration files of both versions have policies, in the present and in the older form', async (t) => {
  const platform = await startPlatform(t)
  const port = await startUpstream(t)
  const { env, write } = environment(platform)
  const older = { inbound: answerWith('older').on_http_request }
  const files = {
    'v3.yml': {
      version: 3,
      endpoints: [
        {
          name: 'a',
          url: 'http://a.adit.localhost',
          upstream: { url: port },
          traffic_policy: answerWith('v3'),
        },
      ],
    },
    'v2.yml': {
      version: 2,
      tunnels: {
        b: {
          proto: 'http',
          schemes: ['http'],
          addr: port,
          domain: 'b.adit.localhost',
          traffic_policy: answerWith('v2'),
        },
        c: { proto: 'http', schemes: ['http'], addr: port, domain: 'c.adit.localhost', policy: older },
      },
    },
  }
  for (const [name, content] of Object.entries(files)) {
    const config = write(name, JSON.stringify(content))
    startProgram(t, ['start', '--all', `--config=${config}`, '--web-addr=false'], { env })
  }

  for (const [host, text] of [
    ['a', 'v3'],
    ['b', 'v2'],
    ['c', 'older'],
  ])
    await eventuallyEqual(async () => (await fetchHost(platform, `${host}.adit.localhost`)).body, text)
})

test('the official SDK binds endpoints with policies, and is told of mistakes', async (t) => {
  const platform = await startPlatform(t)
  const port = await startUpstream(t)
  const { authtoken, agent_addr, ca_file } = platform.credentials
  const builder = new ngrok.SessionBuilder()
  builder.authtoken(authtoken).serverAddr(agent_addr).rootCas(ca_file)
  const session = await builder.connect()
  t.after(() => session.close())
  const endpoint = () => session.httpEndpoint().scheme('http').domain(HOST)

  await assert.rejects(
    endpoint().trafficPolicy(INVALID).listenAndForward(`http://127.0.0.1:${port}`),
    /did you mean deny\?[\s\S]*2201/,
  )
  await endpoint()
    .trafficPolicy(JSON.stringify(answerWith('from the SDK')))
    .listenAndForward(`http://127.0.0.1:${port}`)
  const { status, body } = await fetchHost(platform, HOST)
  const { endpoints } = (await platform.call('GET', '/endpoints')).body

  assert.deepEqual([status, body], [203, 'from the SDK'])
  assert.deepEqual(JSON.parse(endpoints[0].traffic_policy), answerWith('from the SDK'))
})

test('the inspector shows the rules that matched each request, and what their actions did', async (t) => {
  const platform = await startPlatform(t)
  const agent = await startAgent(t, platform, undefined, { inspector: '127.0.0.1:0' })
  const tag = { type: 'add-headers', config: { headers: { 'x-tag': 'yes' } } }
  const verify = { type: 'verify-webhook', config: { provider: 'github', secret: 'k', enforce: false } }
  const policy = {
    on_http_request: [
      { name: 'Others', expressions: ["req.method == 'PUT'"], actions: [tag] },
      { name: 'Tagged', expressions: ["req.url.path == '/tagged'"], actions: [tag, verify] },
      {
        expressions: ["req.url.path == '/late'"],
        actions: [{ type: 'log', config: { metadata: { a: 'b' } } }],
      },
      { expressions: ["req.url.path == '/denied'"], actions: [{ type: 'deny' }] },
    ],
    on_http_response: [{ name: 'Mark', expressions: ["req.url.path != '/plain'"], actions: [tag] }],
  }
  await agent.forward({
    addr: await startUpstream(t),
    url: `http://${HOST}`,
    traffic_policy: JSON.stringify(policy),
  })

  const { port } = new URL(platform.credentials.http_url)
  for (const path of ['/tagged', '/plain', '/late', '/denied'])
    await (await platform.fetch(`http://${HOST}:${port}${path}`)).text()

  await eventuallyEqual(() => readPolicyActions(agent), {
    '/tagged': [
      `${HOST} on_http_request 2 Tagged add-headers`,
      `${HOST} on_http_request 2 Tagged verify-webhook: The webhook could not be verified: it has no x-hub-signature-256 field.`,
      `${HOST} on_http_response 1 Mark add-headers`,
    ],
    '/plain': [],
    '/late': [`${HOST} on_http_request 3  log`, `${HOST} on_http_response 1 Mark add-headers`],
  })
})
