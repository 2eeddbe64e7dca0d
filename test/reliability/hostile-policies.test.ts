// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is what policies hold
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type ClientHttp2Session, connect } from 'node:http2'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { fetchHost } from '../support/agents.ts'
import { startBoundedServer } from '../support/bounded-server.ts'
import { eventually } from '../support/eventually.ts'
import type { ServerProcess } from '../support/server-process.ts'

const HOST = 'hostile.adit.localhost'
const STREAMS = 90

const lines = (count: number, write: (index: number) => string) =>
  Array.from({ length: count }, (_, n) => write(n)).join('\n')

const action = (type: string, config: object = {}) => ({ type, config })

/** Answers at `/ready` with its revision, so that a test knows when the policy applies. */
const withRevision = (revision: number, rules: readonly object[], others: object = {}) =>
  JSON.stringify({
    on_http_request: [
      {
        expressions: ["req.url.path == '/ready'"],
        actions: [action('custom-response', { body: `revision ${revision}` })],
      },
      ...rules,
      { actions: [action('custom-response', { body: 'passed' })] },
    ],
    ...others,
  })

/** Each loop is true, and the rules go on. */
const READS = Array.from({ length: 20 }, () => ({
  expressions: [
    'size(req.cookies) >= 0',
    'size(req.url.query_params) > 0',
    "size(getQueryParam('a')) > 0",
    "!hasReqCookie('a')",
    'req.headers.exists(k, v, true)',
  ].map((read) => `lists.range(3000).all(x, ${read})`),
  actions: [action('log', { metadata: { a: 'b' } })],
}))

const LONG = `\${lists.range(15).map(x, '${'y'.repeat(1000)}').join('')}`

/** What was multiplied, for visitors who do not read it. */
const UNREAD: Readonly<Record<string, (revision: number) => string>> = {
  'texts of texts': (revision) =>
    withRevision(revision, [
      {
        actions: [
          action('set-vars', {
            vars: Array.from({ length: 5 }, (_, n) => ({
              [`v${n}`]: n === 0 ? LONG : `\${vars.v${n - 1}}`.repeat(9),
            })),
          }),
          action('custom-response', { body: '${vars.v4}'.repeat(9) }),
        ],
      },
    ]),
  'large bodies': (revision) =>
    withRevision(revision, [{ actions: [action('custom-response', { body: LONG.repeat(16) })] }]),
  'bodies that fit into a buffer': (revision) =>
    withRevision(revision, [{ actions: [action('custom-response', { body: LONG.repeat(4) })] }]),
  'many long fields': (revision) =>
    withRevision(revision, [], {
      on_http_response: [
        {
          expressions: ["req.url.path != '/ready'"],
          actions: Array.from({ length: 20 }, () => action('add-headers', { headers: { 'x-a': LONG } })),
        },
      ],
    }),
}

async function createEndpoint({ call }: Awaited<ReturnType<typeof startBoundedServer>>, policy: string) {
  await call.create('/reserved_domains', { domain: HOST })
  return call.create('/endpoints', { url: `https://${HOST}`, traffic_policy: policy })
}

async function openVisitors(
  t: TestContext,
  { credentials }: ServerProcess,
  count: number,
): Promise<ClientHttp2Session[]> {
  const ca = await readFile(credentials.ca_file, 'utf8')
  const port = new URL(credentials.https_url).port
  const sessions = Array.from({ length: count }, () =>
    connect(`https://${HOST}:${port}`, {
      ca,
      host: '127.0.0.1',
      settings: { initialWindowSize: 0 },
    } as object),
  )
  t.after(() => {
    for (const session of sessions) session.destroy()
  })
  for (const session of sessions) session.on('error', () => {})
  return sessions
}

/** Sends a request, and waits for the head of its response or its end. */
async function request(session: ClientHttp2Session): Promise<void> {
  const stream = session.request({ ':path': '/' })
  // The server ends what takes too much of a connection.
  await once(stream, 'response').catch(() => {})
}

test('a policy with thousands of mistakes, or aliases of long rules, takes little time', async (t) => {
  const { bounded, call, server } = await startBoundedServer(t)
  const rule = ' - &r\n   actions: [{type: deny}]\n'
  const expressions = lines(50, (n) => `    - "req.method == '${n}'${" || req.method == 'GET'".repeat(80)}"`)
  const policies = {
    'unknown fields': `on_http_request:\n${rule}${lines(20_000, (n) => `   f${n}: 1`)}`,
    'aliases of a rule': `on_http_request:\n${rule}   expressions:\n${expressions}\n${' - *r\n'.repeat(99)}`,
  }

  for (const [name, traffic_policy] of Object.entries(policies)) {
    const { status } = await bounded(name, () =>
      call('POST', '/endpoints', { body: { url: `https://${HOST}`, traffic_policy } }),
    )
    assert.equal(status, 400, name)
  }
  assert.equal(await server.stop(), 0)
})

test('a policy that reads the request in loops costs a visitor its request and the server little', async (t) => {
  const attacked = await startBoundedServer(t)
  const { server, bounded } = attacked
  const url = `http://${HOST}`
  await attacked.call.create('/reserved_domains', { domain: HOST })
  await attacked.call.create('/endpoints', { url, traffic_policy: withRevision(0, READS) })
  await eventually(async () => (await fetchHost(server, HOST, '/ready')).body === 'revision 0', 'it applies')

  const { status } = await bounded('reads in loops', () => fetchHost(server, HOST, `/?${'a&'.repeat(3000)}`))

  assert.equal(status, 500)
  assert.equal(await server.stop(), 0)
})

test('what policies multiply for visitors who do not read takes a bounded part of the memory', async (t) => {
  const attacked = await startBoundedServer(t)
  const { server, bounded, call } = attacked
  const endpoint = await createEndpoint(attacked, withRevision(0, []))

  for (const [index, [name, policyOf]] of Object.entries(UNREAD).entries()) {
    const revision = index + 1
    await call('PATCH', `/endpoints/${endpoint.id}`, { body: { traffic_policy: policyOf(revision) } })
    const port = Number(new URL(server.credentials.https_url).port)
    await eventually(
      async () => (await readRevision(server, port)) === `revision ${revision}`,
      `${name} applies`,
    )
    // A small body takes many visitors.
    const sessions = await openVisitors(t, server, name === 'bodies that fit into a buffer' ? 60 : 10)
    // Each of these requests may take the budget of a phase.
    const maxCpuMs = sessions.length * STREAMS * 20
    await bounded(
      name,
      () =>
        Promise.all(sessions.flatMap((session) => Array.from({ length: STREAMS }, () => request(session)))),
      maxCpuMs,
    )
    for (const session of sessions) session.destroy()
  }
  assert.equal(await server.stop(), 0)
})

async function readRevision({ credentials }: ServerProcess, port: number): Promise<string> {
  const session = connect(`https://${HOST}:${port}`, {
    ca: await readFile(credentials.ca_file, 'utf8'),
    host: '127.0.0.1',
  } as object)
  try {
    let body = ''
    for await (const chunk of session.request({ ':path': '/ready' })) body += chunk
    return body
  } finally {
    session.destroy()
  }
}
