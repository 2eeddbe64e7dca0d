import assert from 'node:assert/strict'
import { connect as connectTcp, type Socket } from 'node:net'
import { before, type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { startTcp } from '../../../test/support/local-server.ts'
import { internalAddress } from '../../naming/index.ts'
import { TunnelBusy } from '../contracts/tunnels.ts'
import { createTestCertificates } from '../testing/certificates.ts'
import { startEdge } from '../testing/edge.ts'
import { TestObserver } from '../testing/observer.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'

const HOST = 'raw.adit.localhost'

type Action = { type: string; config?: object }

const policyOf = (...actions: Action[]) => JSON.stringify({ on_tcp_connect: [{ actions }] })
const forward = (url: string, on_error?: 'continue'): Action => ({
  type: 'forward-internal',
  config: { url, ...(on_error && { on_error }) },
})
const terminate: Action = { type: 'terminate-tls', config: {} }

let certificates: Awaited<ReturnType<typeof createTestCertificates>>
before(async () => {
  certificates = await createTestCertificates('adit.localhost')
})

interface Internal {
  readonly url: string
  /** What its service sends; without it the agent takes no connection. */
  readonly greeting?: string
  readonly trafficPolicy?: string
  readonly accountId?: string
}

/** A tcp and a tls endpoint with a policy, and internal ones. */
async function startForwarding(t: TestContext, internal: readonly Internal[]) {
  const tunnels = new TestTunnels()
  const greet = (text: string) => startTcp(t, (socket) => socket.end(text))
  const upstream = await greet('public upstream')
  for (const { url, greeting, trafficPolicy, accountId = 'ac_test' } of internal) {
    const [proto, host, port] = url.split(/:\/\/|:/) as ['tcp' | 'tls', string, string]
    const tunnel = createLocalTunnel(await greet(greeting ?? ''), {
      accountId,
      options: trafficPolicy === undefined ? {} : { trafficPolicy },
    })
    const busy = () => {
      throw new TunnelBusy('busy')
    }
    tunnels.tunnels.push({
      ...tunnel,
      ...(greeting === undefined && { open: busy }),
      address: internalAddress(proto, host, Number(port), accountId),
    })
  }
  const observer = new TestObserver('ac_test')
  const { edge, tlsPort } = await startEdge(
    t,
    tunnels,
    {},
    { certificates: certificates.lookup, observe: observer },
  )
  const port = await edge.ports.acquire()
  return {
    /** The errors of rejected connections so far. */
    errorCodes: () => observer.connections.flatMap(({ errorCode }) => errorCode ?? []),
    /** What a client of the tcp endpoint gets with this policy. */
    tcp(trafficPolicy: string) {
      tunnels.ports.set(port, createLocalTunnel(upstream, { proto: 'tcp', options: { trafficPolicy } }))
      return read(connectTcp(port, '127.0.0.1'))
    },
    /** What a client of the tls endpoint gets: `plain` where the service saw what the client had encrypted. */
    tls(trafficPolicy: string) {
      tunnels.add(
        HOST,
        createLocalTunnel(upstream, { proto: 'tls', hostport: `${HOST}:443`, options: { trafficPolicy } }),
      )
      return read(connectTls({ port: tlsPort, servername: HOST, ca: certificates.ca }))
    },
  }
}

function read(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', (error) => {
      text ||= (error as NodeJS.ErrnoException).code ?? error.message
    })
    socket.on('close', () => resolve(text))
  })
}

test('a tcp endpoint forwards to internal endpoints of its own account, in the order of its policy', async (t) => {
  const { tcp, errorCodes } = await startForwarding(t, [
    { url: 'tcp://db.internal:5432', greeting: 'db' },
    { url: 'tcp://busy.internal:5432' },
    { url: 'tcp://foreign.internal:5432', greeting: 'foreign', accountId: 'ac_other' },
    { url: 'tcp://router.internal:1', trafficPolicy: policyOf(forward('tcp://db.internal:5432')) },
    { url: 'tcp://closed.internal:1', greeting: 'closed', trafficPolicy: policyOf({ type: 'deny' }) },
    { url: 'tcp://circle.internal:1', trafficPolicy: policyOf(forward('tcp://circle.internal:1')) },
  ])
  const db = forward("tcp://${'d' + 'b'}.internal:5432")
  const busy = forward('tcp://busy.internal:5432', 'continue')
  const absent = forward('tcp://absent.internal:5432', 'continue')
  const cases: [policy: string, expected: string, code?: string][] = [
    [policyOf(db), 'db'],
    [policyOf(forward('tcp://router.internal:1')), 'db'],
    [policyOf(absent, busy, db), 'db'],
    [policyOf(absent, busy), 'public upstream'],
    [policyOf(forward('tcp://foreign.internal:5432')), 'ECONNRESET', 'ERR_ADIT_3500'],
    [policyOf(forward('tcp://busy.internal:5432')), 'ECONNRESET', 'ERR_ADIT_3502'],
    [policyOf(forward('tcp://closed.internal:1', 'continue')), 'ECONNRESET', 'ERR_ADIT_2301'],
    [policyOf(forward('tcp://circle.internal:1')), 'ECONNRESET', 'ERR_ADIT_3501'],
  ]

  for (const [policy, expected, code] of cases) {
    assert.equal(await tcp(policy), expected, policy)
    if (code !== undefined) assert.equal(errorCodes().at(-1), code, policy)
  }
})

test('rules after a failed forward can read why it failed', async (t) => {
  const { tcp } = await startForwarding(t, [{ url: 'tcp://db.internal:5432', greeting: 'db' }])
  const rule = (expression: string, ...actions: Action[]) => ({ expressions: [expression], actions })
  const policy = (code: string) =>
    JSON.stringify({
      on_tcp_connect: [
        { actions: [forward('tcp://absent.internal:5432', 'continue')] },
        rule(`actions.ngrok.forward_internal.error.code == '${code}'`, forward('tcp://db.internal:5432')),
      ],
    })

  assert.deepEqual(
    [await tcp(policy('ERR_ADIT_3500')), await tcp(policy('ERR_ADIT_3502'))],
    ['db', 'public upstream'],
  )
})

test('TLS is terminated once on the way, by the endpoint or by the internal one, and in none else passes through', async (t) => {
  const { tls, tcp, errorCodes } = await startForwarding(t, [
    { url: 'tcp://db.internal:5432', greeting: 'plain' },
    { url: 'tls://pass.internal:443', greeting: 'no TLS' },
    { url: 'tls://end.internal:443', greeting: 'ended', trafficPolicy: policyOf(terminate) },
    {
      url: 'tls://further.internal:443',
      greeting: 'not this',
      trafficPolicy: policyOf(terminate, forward('tcp://db.internal:5432')),
    },
  ])

  assert.equal(await tls(policyOf(terminate, forward('tcp://db.internal:5432'))), 'plain')
  assert.equal(await tls(policyOf(forward('tls://end.internal:443'))), 'ended')
  assert.equal(await tls(policyOf(forward('tls://further.internal'))), 'plain')
  // The service is no TLS server, and its bytes reach the client as they are.
  assert.match(await tls(policyOf(forward('tls://pass.internal:443'))), /SSL|EPROTO/)
  assert.equal(await tcp(policyOf(forward('tls://end.internal:443'))), 'ECONNRESET')
  assert.deepEqual(errorCodes(), ['ERR_ADIT_3503'])
})
