import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Registry } from 'prom-client'
import { eventually } from '../../test/support/eventually.ts'
import {
  ApiKey,
  EventDestination,
  EventSubscription,
  HttpResponseBackend,
  IpPolicy,
} from '../resources/index.ts'
import type { EventsOptions } from './events.ts'
import { TestEventFailed } from './index.ts'
import { ACCOUNT, createTestEvents, createWriter, ManualClock, openTestStore } from './testing/platform.ts'
import { type Sink, type SinkResponse, startSink } from './testing/sink.ts'

const CREATED = 'ip_policy_created.v0'
const HTTP = 'http_request_complete.v0'
const MINUTE = 60_000
const HOUR = 60 * MINUTE

interface EventBody {
  event_id: string
  event_type: string
  event_timestamp: string
  account_id: string
  sequence: number
  // biome-ignore lint/suspicious/noExplicitAny: events carry objects of every shape.
  object: any
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  principal: any
}

const bodies = (sink: Sink) => sink.arrivals.map(({ body }) => JSON.parse(body.toString()) as EventBody)

async function createHarness(t: TestContext, options: Partial<EventsOptions> = {}) {
  const clock = new ManualClock()
  const store = await openTestStore(t, clock)
  const writer = createWriter(store)
  const events = createTestEvents(t, store, clock, options)
  return { clock, store, writer, events }
}

function startSinkWith(t: TestContext, ...statuses: number[]): Promise<Sink> {
  const responses = statuses.map((status): SinkResponse => ({ status }))
  return startSink(t, () => (responses.length > 1 ? responses.shift()! : responses[0]!))
}

test('events of a created, updated and deleted resource reach the webhook with principal and sequence', async (t) => {
  const { clock, store, events } = await createHarness(t)
  const sink = await startSinkWith(t, 200)
  const owner = 'usr_000000000000000000000000001'
  const writer = createWriter(store, { principal: owner, credential: 'ak_000000000000000000000000001' })
  await writer.user('ann@example.com', owner)
  const destination = await writer.webhook(sink.url)
  await writer.subscribe([destination], CREATED, 'ip_policy_updated.v0', 'ip_policy_deleted.v0')
  await events.start()

  const id = await writer.create(IpPolicy, { description: 'office' })
  await writer.update(IpPolicy, id, { description: 'home' })
  await writer.remove(IpPolicy, id)

  await eventually(() => sink.arrivals.length === 3)
  const [created, updated, deleted] = bodies(sink).sort((a, b) => a.sequence - b.sequence) as [
    EventBody,
    EventBody,
    EventBody,
  ]
  assert.deepEqual(
    [created, updated, deleted].map(({ event_type, object }) => [event_type, object.description]),
    [
      [CREATED, 'office'],
      ['ip_policy_updated.v0', 'home'],
      ['ip_policy_deleted.v0', 'home'],
    ],
  )
  assert.match(created.event_id, /^ev_[0-9A-Za-z]{27}$/)
  assert.equal(created.event_timestamp, new Date(clock.now()).toISOString())
  assert.equal(created.account_id, ACCOUNT)
  assert.equal(created.object.uri, `http://api.test/ip_policies/${id}`)
  assert.deepEqual(created.principal, {
    id: owner,
    subject: 'ann@example.com',
    source: 'API',
    credential: {
      id: 'ak_000000000000000000000000001',
      uri: 'http://api.test/api_keys/ak_000000000000000000000000001',
    },
  })
})

test('an event caused in the dashboard has this source and no credential', async (t) => {
  const { store, events } = await createHarness(t)
  const sink = await startSinkWith(t, 200)
  const owner = 'usr_000000000000000000000000001'
  const writer = createWriter(store, { principal: owner, credential: 'das_000000000000000000000000001' })
  await writer.user('ann@example.com', owner)
  await writer.subscribe([await writer.webhook(sink.url)], CREATED)
  await events.start()

  await writer.create(IpPolicy, {})

  await eventually(() => sink.arrivals.length === 1)
  assert.deepEqual(bodies(sink)[0]?.principal, {
    id: owner,
    subject: 'ann@example.com',
    source: 'Dashboard',
    credential: null,
  })
})

test('events contain no secrets', async (t) => {
  const { writer, events } = await createHarness(t)
  const sink = await startSinkWith(t, 200)
  const destination = await writer.create(EventDestination, {
    target: { webhook: { url: sink.url, secret: 'canary' } },
  })
  await writer.subscribe([destination], 'event_destination_updated.v0', 'api_key_created.v0')
  await events.start()

  await writer.update(EventDestination, destination, {
    target: { webhook: { url: sink.url, secret: 'canary' } },
  })
  await writer.create(ApiKey, {})

  await eventually(() => sink.arrivals.length === 2)
  for (const { body } of sink.arrivals) assert.doesNotMatch(body.toString(), /canary|token_digest/)
})

test('changes made while no process delivered are delivered later, to the subscriptions of their time', async (t) => {
  const { store, writer, events, clock } = await createHarness(t)
  const sink = await startSinkWith(t, 200)
  const destination = await writer.webhook(sink.url)
  await writer.create(IpPolicy, { description: 'before' })
  const subscription = await writer.subscribe([destination], CREATED)
  await writer.create(IpPolicy, { description: 'during' })
  await writer.remove(EventSubscription, subscription)
  await writer.create(IpPolicy, { description: 'after' })

  await events.start()

  await eventually(() => sink.arrivals.length > 0)
  await events.stop()
  const again = createTestEvents(t, store, clock)
  await again.start()
  await eventually(async () => (await again.states()).every(({ queued }) => queued === 0))
  assert.deepEqual(
    bodies(sink).map(({ object }) => object.description),
    ['during'],
  )
})

test('a failed event is retried with the same id and growing delays, and becomes a dead letter', async (t) => {
  const { clock, writer, events } = await createHarness(t)
  const sink = await startSinkWith(t, 500)
  const destination = await writer.webhook(sink.url)
  await writer.subscribe([destination], CREATED)
  // Proves that due events have been checked since the clock was advanced.
  const healthy = await startSinkWith(t, 200)
  await writer.subscribe([await writer.webhook(healthy.url)], 'http_response_backend_created.v0')
  await events.start()
  const start = clock.now()
  await writer.create(IpPolicy, {})
  const waits = [
    5000,
    30_000,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    24 * HOUR,
  ]

  for (const [index, wait] of waits.entries()) {
    await eventually(
      async () => sink.arrivals.length === index + 1 && (await failures(destination)) === index + 1,
    )
    clock.advance(wait - 1)
    await writer.create(HttpResponseBackend, {})
    await eventually(() => healthy.arrivals.length === index + 1)
    assert.equal(sink.arrivals.length, index + 1, `not before ${wait} ms`)
    clock.advance(1)
  }

  await eventually(async () => (await events.status(ACCOUNT, destination)).dead === 1)
  assert.ok(clock.now() - start >= 72 * HOUR)
  assert.equal(sink.arrivals.length, waits.length + 1)
  assert.equal(new Set(bodies(sink).map(({ event_id }) => event_id)).size, 1)
  const { backlog, last_error, last_success_at } = await events.status(ACCOUNT, destination)
  assert.deepEqual(
    { backlog, last_error, last_success_at },
    {
      backlog: 0,
      last_error: 'The webhook answered 500.',
      last_success_at: null,
    },
  )

  async function failures(id: string) {
    return (await events.states()).find((state) => state.destination === id)?.failed
  }
})

test('dead letters are listed, replayed and purged after 30 days', async (t) => {
  const { clock, writer, events } = await createHarness(t)
  const sink = await startSinkWith(t, 410, 410, 200)
  const destination = await writer.webhook(sink.url)
  await writer.subscribe([destination], CREATED)
  await events.start()
  await writer.create(IpPolicy, { description: 'one' })
  await eventually(() => sink.arrivals.length === 1)
  await eventually(async () => (await events.status(ACCOUNT, destination)).disabled)
  clock.advance(5000)
  await writer.create(IpPolicy, { description: 'two' })
  await eventually(async () => (await events.status(ACCOUNT, destination)).dead === 2)
  const [second, first] = await events.deadLetters(destination, { limit: 10 })
  assert.match(first!.body, /"one"/)
  assert.equal(sink.arrivals.length, 1)
  sink.respond = () => ({ status: 200 })

  assert.equal(await events.replay(destination, [first!.id]), 1)

  await eventually(() => sink.arrivals.length === 2)
  assert.equal(bodies(sink)[1]?.event_id, first!.id)
  assert.equal((await events.status(ACCOUNT, destination)).disabled, false)
  assert.deepEqual(
    (await events.deadLetters(destination, { limit: 10 })).map(({ id }) => id),
    [second!.id],
  )
  clock.advance(30 * 24 * HOUR + 1)
  await eventually(async () => (await events.status(ACCOUNT, destination)).dead === 0)
})

test('a destination disabled by 410 is tried again after it is changed', async (t) => {
  const { writer, events } = await createHarness(t)
  const sink = await startSinkWith(t, 410)
  const destination = await writer.webhook(sink.url)
  await writer.subscribe([destination], CREATED)
  await events.start()
  await writer.create(IpPolicy, {})
  await eventually(async () => (await events.status(ACCOUNT, destination)).disabled)

  await writer.update(EventDestination, destination, {
    target: { webhook: { url: `${sink.url}/new`, secret: 'whsec_c2VjcmV0' } },
  })
  await writer.create(IpPolicy, {})

  const arrival = await eventually(() => sink.arrivals[1])
  assert.equal(arrival.path, '/new')
})

test('a receiver that sends Retry-After is not called earlier', async (t) => {
  const { clock, writer, events } = await createHarness(t)
  const sink = await startSink(t, () => ({ status: 503, headers: { 'retry-after': '600' } }))
  const destination = await writer.webhook(sink.url)
  await writer.subscribe([destination], CREATED)
  await events.start()
  await writer.create(IpPolicy, {})
  await eventually(async () => (await events.states())[0]?.failed === 1)
  clock.advance(599_999)
  await writer.subscribe([await writer.webhook((await startSinkWith(t, 200)).url)], 'api_key_created.v0')
  await writer.create(ApiKey, {})
  await eventually(async () => (await events.states()).some(({ delivered }) => delivered === 1))
  assert.equal(sink.arrivals.length, 1)

  clock.advance(1)

  await eventually(() => sink.arrivals.length === 2)
})

test('an event reaches Azure Monitor after a rejected token and a throttled batch, as one row', async (t) => {
  let tokens = 0
  const responses = [401, 429, 204]
  const sink = await startSink(t, ({ path }) =>
    path === '/tenant/oauth2/v2.0/token'
      ? { status: 200, body: JSON.stringify({ access_token: `token-${++tokens}`, expires_in: 3599 }) }
      : { status: responses.shift() ?? 500 },
  )
  const { clock, writer, events } = await createHarness(t, { endpoints: { azure_login: sink.url } })
  const destination = await writer.create(EventDestination, {
    target: {
      azure_logs_ingestion: {
        tenant_id: 'tenant',
        client_id: 'application',
        client_secret: 'hush',
        logs_ingestion_uri: sink.url,
        data_collection_rule_id: 'dcr-1',
        data_collection_stream_name: 'Custom-Events_CL',
      },
    },
  })
  await writer.subscribe([destination], CREATED)
  await events.start()
  const changedAt = new Date(clock.now()).toISOString()

  await writer.create(IpPolicy, { description: 'office' })

  await eventually(async () => (await events.states())[0]?.failed === 1)
  assert.match((await events.status(ACCOUNT, destination)).last_error ?? '', /401: the token is not accepted/)
  clock.advance(5000)
  await eventually(async () => (await events.states())[0]?.failed === 2)
  assert.match((await events.status(ACCOUNT, destination)).last_error ?? '', /429: too many requests/)
  clock.advance(30_000)
  await eventually(async () => (await events.states())[0]?.delivered === 1)
  const batches = sink.arrivals.filter(({ path }) => path.endsWith('/streams/Custom-Events_CL'))
  assert.deepEqual(
    batches.map(({ headers }) => headers.authorization),
    ['Bearer token-1', 'Bearer token-2', 'Bearer token-2'],
  )
  const rows = JSON.parse(String(batches.at(-1)?.body))
  assert.deepEqual(
    rows.map((row: EventBody & { TimeGenerated: string }) => [row.TimeGenerated, row.object.description]),
    [[changedAt, 'office']],
  )
})

test('a stuck destination delays no other', async (t) => {
  const { writer, events } = await createHarness(t)
  const stuck = await startSink(t, () => 'never')
  const healthy = await startSinkWith(t, 200)
  const [one, two] = [await writer.webhook(stuck.url), await writer.webhook(healthy.url)]
  await writer.subscribe([one, two], CREATED)
  await events.start()
  for (let index = 0; index < 100; index++) await writer.create(IpPolicy, {})
  await eventually(() => stuck.arrivals.length > 0)

  await eventually(() => healthy.arrivals.length === 100)

  assert.equal((await events.status(ACCOUNT, one)).last_success_at, null)
})

test('events over the limit of a queue are counted as dropped', async (t) => {
  const { writer, events } = await createHarness(t, { limits: { queue: 3 } })
  const sink = await startSinkWith(t, 500)
  const destination = await writer.webhook(sink.url)
  await writer.subscribe([destination], CREATED)
  await events.start()

  for (let index = 0; index < 5; index++) await writer.create(IpPolicy, {})

  const status = await eventually(async () => {
    const current = await events.status(ACCOUNT, destination)
    return current.dropped === 2 && current
  })
  assert.equal(status.backlog, 3)
})

test('an event too large for its target becomes a dead letter immediately and blocks nothing', async (t) => {
  const { store, writer, events } = await createHarness(t)
  const sink = await startSinkWith(t, 200)
  const destination = await writer.webhook(sink.url)
  await writer.subscribe([destination], 'tunnel_start.v0')
  await events.start()
  const event = { type: 'tunnel_start.v0', accountId: ACCOUNT, sequence: 1 }

  events.emit({ ...event, object: { filler: 'x'.repeat(1_100_000) } })
  events.emit({ ...event, object: { filler: 'y' } })

  await eventually(async () => (await events.status(ACCOUNT, destination)).dead === 1)
  await eventually(() => sink.arrivals.length === 1)
  const [dead] = await events.deadLetters(destination, { limit: 1 })
  assert.match(dead!.error, /larger than/)
  await store.check()
})

test('the start and stop of a session reach its subscribers with their sequence', async (t) => {
  const { clock, writer, events } = await createHarness(t)
  const sink = await startSinkWith(t, 200)
  const destination = await writer.webhook(sink.url)
  await writer.subscribe([destination], 'agent_session_start.v0', 'agent_session_stop.v0', 'tunnel_stop.v0')
  await events.start()
  const session = {
    id: 'ts_1',
    accountId: ACCOUNT,
    credentialId: 'cr_1',
    transport: 'adit/v2',
    agentVersion: '1.0.0',
    os: 'linux',
    arch: 'x64',
    userAgent: 'adit/1.0.0',
    ingressHostname: 'connect.example.com',
    ingressIp: '192.0.2.1',
    ip: '192.0.2.7',
    region: 'us',
    metadata: '',
    startedAt: clock.now(),
  }
  const tunnel = {
    id: 'tn_1',
    accountId: ACCOUNT,
    sessionId: 'ts_1',
    region: 'us',
    address: { proto: 'https', url: 'https://a.adit.localhost' },
    forwardsTo: 'http://localhost:80',
    metadata: '',
    startedAt: clock.now(),
  }

  events.onLive({ type: 'session_started', session })
  events.onLive({ type: 'tunnel_started', tunnel })
  events.onLive({ type: 'tunnel_stopped', tunnel })
  events.onLive({ type: 'session_stopped', session, error: 'The connection was lost.' })

  await eventually(() => sink.arrivals.length === 3)
  const received = bodies(sink).sort((a, b) => a.event_type.localeCompare(b.event_type))
  assert.deepEqual(
    received.map(({ event_type, sequence }) => [event_type, sequence]),
    [
      ['agent_session_start.v0', 1],
      ['agent_session_stop.v0', 2],
      ['tunnel_stop.v0', 2],
    ],
  )
  assert.deepEqual(received[0]?.object.session, { id: 'ts_1', uri: 'http://api.test/tunnel_sessions/ts_1' })
  assert.equal(received[0]?.object.stopped_at, null)
  const { agent_ip, ingress_server_ip, ingress_hostname, user_agent, arch } = received[0]!.object
  assert.deepEqual(
    [agent_ip, ingress_server_ip, ingress_hostname, user_agent, arch],
    ['192.0.2.7', '192.0.2.1', 'connect.example.com', 'adit/1.0.0', 'x64'],
  )
  const endOf = ({ object: { expires_at, deprecated, error } }: (typeof received)[number]) => [
    expires_at,
    deprecated,
    error,
  ]
  assert.deepEqual(endOf(received[0]!), [null, null, null])
  assert.deepEqual(endOf(received[1]!), [null, null, 'The connection was lost.'])
  assert.equal(received[2]?.object.public_url, 'https://a.adit.localhost')
})

const request = {
  accountId: ACCOUNT,
  connection: {
    scheme: 'http',
    remoteAddress: '192.0.2.7',
    localAddress: '127.0.0.1',
    localPort: 80,
    serverName: undefined,
    tls: undefined,
    startedAt: 0,
  },
  endedAt: 0,
  method: 'GET',
  host: 'a.adit.localhost',
  target: '/',
  requestFields: '',
  requestBodyLength: 0,
  status: 200,
  responseFields: '',
  responseBodyLength: 0,
  connectionReused: false,
  annotations: {},
}

test('request events have the selected fields, match the filter, and exist only for subscribers', async (t) => {
  const { clock, writer, events } = await createHarness(t)
  const sink = await startSinkWith(t, 200)
  const destination = await writer.webhook(sink.url)
  await events.start()
  assert.equal(events.observer.wantsRequests(ACCOUNT), false)
  const filter = 'ev.http.response.status_code >= 500'
  await writer.subscribe([destination], {
    type: HTTP,
    filter,
    fields: ['http.response.status_code', 'conn.client_ip'],
  })
  await eventually(() => events.observer.wantsRequests(ACCOUNT))

  for (const status of [200, 500, 404, 502]) events.observer.onRequest({ ...request, status })
  clock.advance(1000)

  await eventually(() => sink.arrivals.length === 2)
  assert.deepEqual(
    bodies(sink).map(({ object, principal }) => ({ object, principal })),
    [500, 502].map((status_code) => ({
      object: { http: { response: { status_code } }, conn: { client_ip: '192.0.2.7' } },
      principal: null,
    })),
  )
  assert.equal(events.observer.wantsConnections(ACCOUNT), false)
})

test('a subscription that throws on an event does not affect the others', async (t) => {
  const { clock, writer, events } = await createHarness(t)
  const sink = await startSinkWith(t, 200)
  const destination = await writer.webhook(sink.url)
  // Filters throw like fields do; the field in the middle throws.
  for (const field of ['conn.client_ip', 'tls.version', 'conn.server_port'])
    await writer.subscribe([destination], { type: HTTP, fields: [field] })
  await writer.subscribe([destination], { type: HTTP, filter: 'ev.tls.version == "TLSv1.3"' })
  await events.start()
  const connection = {
    ...request.connection,
    get tls(): never {
      throw new Error('The socket is closed.')
    },
  }

  events.observer.onRequest({ ...request, connection })
  clock.advance(1000)

  await eventually(() => sink.arrivals.length === 2)
  assert.deepEqual(
    bodies(sink).map(({ object }) => object),
    [{ conn: { client_ip: '192.0.2.7' } }, { conn: { server_port: request.connection.localPort } }],
  )
})

test('traffic for a dead sink is bounded, counted and reported', async (t) => {
  const metrics = new Registry()
  const { clock, writer, events } = await createHarness(t, { limits: { buffer: 100 }, metrics })
  const sink = await startSinkWith(t, 500)
  const destination = await writer.webhook(sink.url)
  await writer.subscribe([destination], HTTP)
  await events.start()

  for (let index = 0; index < 150; index++) events.observer.onRequest(request)
  assert.equal((await events.status(ACCOUNT, destination)).backlog, 100)
  clock.advance(5000)

  const status = await eventually(async () => {
    const current = await events.status(ACCOUNT, destination)
    return current.dropped === 50 && current
  })
  assert.equal(status.backlog, 100)
  const text = await eventually(async () => {
    const exposition = await metrics.metrics()
    return exposition.includes(`adit_events_dropped_total{destination="${destination}"} 50`) && exposition
  })
  assert.match(text, new RegExp(`adit_event_backlog\\{destination="${destination}"\\} 100`))
  sink.respond = () => ({ status: 200 })
  await eventually(async () => {
    clock.advance(1000)
    return (await events.status(ACCOUNT, destination)).backlog === 0
  })
})

test('buffered traffic is sent at shutdown without waiting for a full batch', async (t) => {
  const { writer, events } = await createHarness(t)
  const sink = await startSinkWith(t, 200)
  const destination = await writer.webhook(sink.url)
  await writer.subscribe([destination], HTTP)
  await events.start()
  events.observer.onRequest(request)

  await events.stop()

  assert.equal(sink.arrivals.length, 1)
})

test('a test event is sent immediately and reports the error', async (t) => {
  const { writer, events } = await createHarness(t)
  const sink = await startSinkWith(t, 200, 401)
  const destination = await writer.webhook(sink.url)

  const { event_id } = await events.sendTest(ACCOUNT, destination)

  assert.deepEqual(
    bodies(sink).map((event) => [event.event_id, event.event_type]),
    [[event_id, 'test_event.v0']],
  )
  await assert.rejects(events.sendTest(ACCOUNT, destination), (error: Error) => {
    return error instanceof TestEventFailed && error.message === 'The webhook answered 401.'
  })
  const { last_success_at, last_error } = await events.status(ACCOUNT, destination)
  assert.notEqual(last_success_at, null)
  assert.equal(last_error, 'The webhook answered 401.')
  await assert.rejects(events.sendTest('ac_other', destination), /no event_destinations/)
})

test('events for a bucket wait until the file is old or large enough', async (t) => {
  const sink = await startSinkWith(t, 200)
  const { clock, writer, events } = await createHarness(t, {
    endpoints: { s3: sink.url },
  })
  const destination = await writer.create(EventDestination, {
    target: {
      s3: {
        auth: { creds: { cloud_access_key_id: 'AKID', cloud_secret_access_key: 'secret' } },
        bucket_arn: 'arn:aws:s3:::our-events',
        max_file_age: 60,
      },
    },
  })
  await writer.subscribe([destination], CREATED)
  await events.start()
  await writer.create(IpPolicy, {})
  await eventually(async () => (await events.status(ACCOUNT, destination)).backlog === 1)
  clock.advance(59_000)
  await writer.create(IpPolicy, {})
  await eventually(async () => (await events.status(ACCOUNT, destination)).backlog === 2)
  assert.equal(sink.arrivals.length, 0)

  clock.advance(1000)

  await eventually(() => sink.arrivals.length === 1)
  await eventually(async () => (await events.status(ACCOUNT, destination)).backlog === 1)
  assert.equal(sink.arrivals[0]?.body.toString().trim().split('\n').length, 1)
})

test('one of two processes delivers, and the other takes over when it stops', async (t) => {
  const { clock, store, writer, events } = await createHarness(t)
  const other = createTestEvents(t, store, clock)
  const sink = await startSinkWith(t, 200)
  const destination = await writer.webhook(sink.url)
  await writer.subscribe([destination], CREATED)
  await events.start()
  await other.start()
  for (let index = 0; index < 20; index++) await writer.create(IpPolicy, {})
  await eventually(() => sink.arrivals.length === 20)
  await events.stop()
  clock.advance(10_000)

  for (let index = 0; index < 20; index++) await writer.create(IpPolicy, {})

  await eventually(() => sink.arrivals.length >= 40)
  assert.equal(new Set(bodies(sink).map(({ object }) => object.id)).size, 40)
  assert.equal(new Set(bodies(sink).map(({ event_id }) => event_id)).size, 40)
})

test('changes that have become events are deleted while many come, but for the last ones', async (t) => {
  const { clock, store, writer, events } = await createHarness(t, { limits: { leaseMs: 60_000 } })
  await events.start()

  for (let batch = 0; batch < 3; batch++)
    await Promise.all(Array.from({ length: 4000 }, () => writer.create(IpPolicy, {})))

  await eventually(async () => {
    // The lease lasts as long as the database says, and is renewed as this clock goes.
    clock.advance(60_000)
    return (await store.changes({ after: 0, limit: 1 }))[0]!.revision > 1000
  })
  assert.ok((await store.changes({ after: 2000, limit: 1 }))[0]!.revision <= 2001, 'the last 10,000 stay')
})
