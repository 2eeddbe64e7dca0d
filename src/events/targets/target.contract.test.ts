import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import {
  CreateStreamCommand,
  DescribeStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
} from '@aws-sdk/client-kinesis'
import kinesalite from 'kinesalite'
import { eventually } from '../../../test/support/eventually.ts'
import { createOutbound } from '../../base/outbound/outbound.ts'
import { systemClock } from '../../base/values/clock.ts'
import { createAwsHandler } from '../aws/handler.ts'
import {
  type DeliveryOutcome,
  type DeliveryTarget,
  type OutboundEvent,
  type TargetEndpoints,
  type TargetKind,
  type TargetSettings,
  toFailure,
} from '../target.ts'
import { json, LONG_TERM, problem, startCloud, xmlProblem } from '../testing/cloud.ts'
import { type ReceivedRequest, type Sink, type SinkResponse, startSink } from '../testing/sink.ts'
import { createTarget } from './kinds.ts'

const NO_TARGET: TargetSettings = {
  firehose: null,
  kinesis: null,
  cloudwatch_logs: null,
  monitoring: null,
  azure_logs_ingestion: null,
  s3: null,
  webhook: null,
}
const KEYS = {
  role: null,
  creds: { cloud_access_key_id: LONG_TERM.accessKeyId, cloud_secret_access_key: LONG_TERM.secretAccessKey },
}
const ROLE = { role: { role_arn: 'arn:aws:iam::123456789012:role/events' }, creds: null }
const SECRET = `whsec_${Buffer.from('a signing key of some length').toString('base64')}`
const S3 = {
  auth: KEYS,
  bucket_arn: 'arn:aws:s3:::our-events',
  object_prefix: 'adit/',
  compression: false,
  max_file_size: 1_000_000,
  max_file_age: 60,
}

/** How to configure, start and read a sink of one kind. */
interface Case {
  settings(sink: Sink, auth?: typeof KEYS | typeof ROLE): Partial<TargetSettings>
  start(t: TestContext): Promise<Sink>
  /** The events of one received request. */
  read(arrival: ReceivedRequest): unknown[]
  throttle: SinkResponse
  /** A response that accepts only the events at odd indexes. */
  partial?(arrival: ReceivedRequest): SinkResponse
}

const cases: Record<TargetKind, Case> = {
  firehose: {
    settings: (_sink, auth = KEYS) => ({
      firehose: { auth, delivery_stream_arn: 'arn:aws:firehose:eu-west-1:123456789012:deliverystream/ours' },
    }),
    start: (t) =>
      startCloud(t, (operation, arrival) => {
        assert.equal(operation, 'PutRecordBatch')
        const { DeliveryStreamName, Records } = JSON.parse(arrival.body.toString())
        assert.equal(DeliveryStreamName, 'ours')
        return json({ FailedPutCount: 0, RequestResponses: Records.map(() => ({ RecordId: 'r' })) })
      }),
    read: ({ body }) =>
      JSON.parse(body.toString()).Records.map(({ Data }: { Data: string }) => {
        const line = Buffer.from(Data, 'base64').toString()
        assert.equal(line.at(-1), '\n')
        return JSON.parse(line)
      }),
    throttle: problem(400, 'ServiceUnavailableException', 'Slow down.'),
    partial: ({ body }) =>
      json({
        FailedPutCount: 2,
        RequestResponses: JSON.parse(body.toString()).Records.map((_: unknown, index: number) =>
          index % 2 ? { RecordId: 'r' } : { ErrorCode: 'ServiceUnavailableException', ErrorMessage: 'Busy.' },
        ),
      }),
  },
  kinesis: {
    settings: (_sink, auth = KEYS) => ({
      kinesis: { auth, stream_arn: 'arn:aws:kinesis:eu-west-1:123456789012:stream/ours' },
    }),
    start: (t) =>
      startCloud(t, (_operation, arrival) =>
        json({
          FailedRecordCount: 0,
          Records: JSON.parse(arrival.body.toString()).Records.map(() => ({
            SequenceNumber: '1',
            ShardId: 's',
          })),
        }),
      ),
    read: ({ body }) =>
      JSON.parse(body.toString()).Records.map(({ Data }: { Data: string }) =>
        JSON.parse(Buffer.from(Data, 'base64').toString()),
      ),
    throttle: problem(400, 'ProvisionedThroughputExceededException', 'Slow down.'),
    partial: ({ body }) =>
      json({
        FailedRecordCount: 2,
        Records: JSON.parse(body.toString()).Records.map((_: unknown, index: number) =>
          index % 2
            ? { SequenceNumber: '1', ShardId: 's' }
            : { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'Busy.' },
        ),
      }),
  },
  cloudwatch_logs: {
    settings: (_sink, auth = KEYS) => ({
      cloudwatch_logs: { auth, log_group_arn: 'arn:aws:logs:eu-west-1:123456789012:log-group:ours:*' },
    }),
    start: (t) => {
      let created = false
      return startCloud(t, (operation, { body }) => {
        if (operation === 'PutLogEvents')
          return created
            ? json({})
            : problem(400, 'ResourceNotFoundException', 'There is no such log stream.')
        assert.equal(operation, 'CreateLogStream')
        assert.deepEqual(JSON.parse(body.toString()), { logGroupName: 'ours', logStreamName: 'ed_sample' })
        created = true
        return json({})
      })
    },
    read: ({ body, headers }) =>
      headers['x-amz-target']?.endsWith('PutLogEvents')
        ? JSON.parse(body.toString()).logEvents.map(({ message }: { message: string }) => JSON.parse(message))
        : [],
    throttle: problem(400, 'ThrottlingException', 'Slow down.'),
  },
  monitoring: {
    settings: () => ({
      monitoring: { api_key: 'dd-key', ddtags: 'env:test', service: 'ours', ddsite: 'datadoghq.eu' },
    }),
    start: (t) =>
      startSink(t, ({ path, headers }) =>
        path === '/api/v2/logs' && headers['dd-api-key'] === 'dd-key'
          ? { status: 202, body: '{}' }
          : { status: 403 },
      ),
    read: ({ body }) =>
      JSON.parse(body.toString()).map((entry: Record<string, string>) => {
        assert.deepEqual(
          { ddsource: entry.ddsource, ddtags: entry.ddtags, service: entry.service },
          { ddsource: 'adit', ddtags: 'env:test', service: 'ours' },
        )
        return JSON.parse(entry.message ?? '')
      }),
    throttle: { status: 429, headers: { 'retry-after': '30' } },
  },
  azure_logs_ingestion: {
    settings: ({ url }) => ({ azure_logs_ingestion: azureSettings(url) }),
    start: (t) =>
      startSink(t, ({ path, query, headers, body }) => {
        if (path === '/our%20tenant/oauth2/v2.0/token') {
          assert.deepEqual(Object.fromEntries(new URLSearchParams(body.toString())), {
            grant_type: 'client_credentials',
            client_id: 'our-application',
            client_secret: 'hush',
            scope: 'https://monitor.azure.com/.default',
          })
          return json({ token_type: 'Bearer', access_token: 'a-token', expires_in: 3599 })
        }
        assert.equal(path, '/dataCollectionRules/dcr-1/streams/Custom-Events_CL')
        assert.equal(query.get('api-version'), '2023-01-01')
        return { status: headers.authorization === 'Bearer a-token' ? 204 : 401 }
      }),
    read: ({ path, body }) =>
      path.endsWith('/token')
        ? []
        : JSON.parse(body.toString()).map(({ TimeGenerated, ...event }: Record<string, unknown>) => {
            assert.match(String(TimeGenerated), /^2026-01-02T03:04:05\.\d{3}Z$/)
            return event
          }),
    throttle: { status: 429, headers: { 'retry-after': '30' } },
  },
  s3: {
    settings: (_sink, auth = KEYS) => ({ s3: { ...S3, auth } }),
    start: (t) => startCloud(t, () => ({ status: 200 })),
    read: ({ path, body }) => {
      assert.match(path, /^\/our-events\/adit\/2026\/01\/02\/03\/ev_0\.ndjson$/)
      return body
        .toString()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    },
    throttle: xmlProblem(503, 'SlowDown', 'Reduce your request rate.'),
  },
  webhook: {
    settings: ({ url }) => ({ webhook: { url: `${url}/hook`, secret: SECRET } }),
    start: (t) => startSink(t, () => ({ status: 204 })),
    read: ({ headers, body }) => {
      const [id, time] = [headers['webhook-id'], headers['webhook-timestamp']]
      const key = Buffer.from('a signing key of some length')
      const signature = createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64')
      assert.equal(headers['webhook-signature'], `v1,${signature}`)
      assert.equal(id, JSON.parse(body.toString()).event_id)
      return [JSON.parse(body.toString())]
    },
    throttle: { status: 429, headers: { 'retry-after': '30' } },
    partial: ({ body }) => ({ status: JSON.parse(body.toString()).number % 2 ? 200 : 500 }),
  },
}

function azureSettings(url: string) {
  return {
    tenant_id: 'our tenant',
    client_id: 'our-application',
    client_secret: 'hush',
    logs_ingestion_uri: `${url}/`,
    data_collection_rule_id: 'dcr-1',
    data_collection_stream_name: 'Custom-Events_CL',
  }
}

function allEndpoints(url: string): TargetEndpoints {
  return {
    firehose: url,
    kinesis: url,
    cloudwatch_logs: url,
    s3: url,
    sts: url,
    monitoring: url,
    azure_login: url,
  }
}

function createTestTarget(
  t: TestContext,
  settings: Partial<TargetSettings>,
  { url, allow = ['127.0.0.1'], attemptMs = 10_000 }: { url: string; allow?: string[]; attemptMs?: number },
): DeliveryTarget {
  const outbound = createOutbound({ allow })
  t.after(() => outbound.close())
  return createTarget(
    { ...NO_TARGET, ...settings },
    {
      accountId: 'ac_sample',
      destinationId: 'ed_sample',
      outbound,
      clock: systemClock,
      endpoints: allEndpoints(url),
      attemptMs,
      cloudIdentity: LONG_TERM,
    },
  )
}

const BASE_TIME = Date.UTC(2026, 0, 2, 3, 4, 5)

function outboundEvents(count: number): OutboundEvent[] {
  return Array.from({ length: count }, (_, number) => ({
    id: `ev_${number}`,
    type: 'test_event.v0',
    time: BASE_TIME + number,
    body: JSON.stringify({ event_id: `ev_${number}`, number, text: 'grüße\n"quoted" \u2028' }),
  }))
}

const never = new AbortController().signal
const numbers = (events: unknown[]) => events.map((event) => (event as { number: number }).number).sort()
const failures = (outcomes: readonly DeliveryOutcome[]) => outcomes.map((outcome) => !outcome.delivered)

for (const [kind, sample] of Object.entries(cases)) {
  test(`${kind}: every event of a batch arrives as serialized`, async (t) => {
    const sink = await sample.start(t)
    const target = createTestTarget(t, sample.settings(sink), sink)
    const batch = outboundEvents(5)

    const outcomes = await target.deliver(batch, never)

    assert.deepEqual(failures(outcomes), [false, false, false, false, false])
    const arrived = sink.arrivals.flatMap((arrival) => sample.read(arrival))
    const expected = batch.map(({ body }) => JSON.parse(body))
    for (const event of expected)
      assert.deepEqual(
        arrived.find((each) => (each as typeof event).number === event.number),
        event,
      )
    if ('unsigned' in sink) assert.deepEqual(sink.unsigned, [])
  })

  test(`${kind}: a throttled batch fails completely and can be retried`, async (t) => {
    const sink = await sample.start(t)
    sink.respond = () => sample.throttle
    const target = createTestTarget(t, sample.settings(sink), sink)

    const outcome = await firstOutcome(target)

    assert.equal(outcome.delivered, false)
    assert.ok(!outcome.final && !outcome.gone)
    assert.match(outcome.error, /429|Slow|SlowDown|request rate/)
    if (sample.throttle.headers?.['retry-after']) assert.equal(outcome.retryAfterMs, 30_000)
  })

  test(`${kind}: a sink that never responds fails after the attempt timeout`, async (t) => {
    const sink = await sample.start(t)
    sink.respond = () => 'never'
    const target = createTestTarget(t, sample.settings(sink), { url: sink.url, attemptMs: 50 })

    const outcome = await firstOutcome(target)

    assert.equal(!outcome.delivered && outcome.error, 'There was no answer in time.')
  })

  test(`${kind}: an unreachable sink fails with a clear error`, async (t) => {
    const sink = await sample.start(t)
    const target = createTestTarget(t, sample.settings(sink), sink)
    await sink.close()

    const outcome = await firstOutcome(target)

    assert.match(!outcome.delivered ? outcome.error : '', /could not be called/)
  })

  test(`${kind}: an address that the operator does not allow is never contacted`, async (t) => {
    const sink = await sample.start(t)
    const target = createTestTarget(t, sample.settings(sink), { url: sink.url, allow: [] })

    const outcome = await firstOutcome(target)

    assert.match(!outcome.delivered ? outcome.error : '', /https only|not on the public Internet/)
    assert.equal(sink.arrivals.length, 0)
  })

  const { partial } = sample
  if (partial !== undefined)
    test(`${kind}: only the rejected events of a batch count as failed`, async (t) => {
      const sink = await sample.start(t)
      sink.respond = partial
      const target = createTestTarget(t, sample.settings(sink), sink)

      const outcomes = await target.deliver(outboundEvents(4), never)

      assert.deepEqual(failures(outcomes), [true, false, true, false])
    })
}

for (const kind of ['firehose', 'kinesis', 'cloudwatch_logs', 's3'] as const) {
  test(`${kind}: a role is assumed for the account, and again after its credentials have expired`, async (t) => {
    const cloud = (await cases[kind].start(t)) as Awaited<ReturnType<typeof startCloud>>
    const target = createTestTarget(t, cases[kind].settings(cloud, ROLE), cloud)
    await target.deliver(outboundEvents(1), never)
    cloud.expiredTokens.add('session-1')

    const outcomes = await target.deliver(outboundEvents(2), never)

    assert.deepEqual(failures(outcomes), [false, false])
    assert.deepEqual(cloud.unsigned, [])
    assert.deepEqual(cloud.assumed, Array(2).fill({ role: ROLE.role.role_arn, externalId: 'ac_sample' }))
  })

  test(`${kind}: wrong keys fail with the error of the service`, async (t) => {
    const cloud = await cases[kind].start(t)
    const wrong = { role: null, creds: { ...KEYS.creds, cloud_secret_access_key: 'another' } }
    const target = createTestTarget(t, cases[kind].settings(cloud, wrong), cloud)

    const outcome = await firstOutcome(target)

    assert.match(!outcome.delivered ? outcome.error : '', /SignatureDoesNotMatch/)
  })
}

test('kinesis: events can be read back from a Kinesis emulator', async (t) => {
  const server: Server = kinesalite({ createStreamMs: 0 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const outbound = createOutbound({ allow: ['127.0.0.1'] })
  t.after(() => outbound.close())
  const reader = new KinesisClient({
    region: 'eu-west-1',
    endpoint: url,
    credentials: LONG_TERM,
    requestHandler: createAwsHandler(outbound),
  })
  await reader.send(new CreateStreamCommand({ StreamName: 'ours', ShardCount: 1 }))
  await eventually(async () => {
    const { StreamDescription } = await reader.send(new DescribeStreamCommand({ StreamName: 'ours' }))
    return StreamDescription?.StreamStatus === 'ACTIVE'
  })
  const target = createTestTarget(t, cases.kinesis.settings({ url } as Sink), { url })

  const outcomes = await target.deliver(outboundEvents(3), never)

  assert.deepEqual(failures(outcomes), [false, false, false])
  const { ShardIterator } = await reader.send(
    new GetShardIteratorCommand({
      StreamName: 'ours',
      ShardId: 'shardId-000000000000',
      ShardIteratorType: 'TRIM_HORIZON',
    }),
  )
  const { Records = [] } = await reader.send(new GetRecordsCommand({ ShardIterator: ShardIterator! }))
  assert.deepEqual(numbers(Records.map(({ Data }) => JSON.parse(Buffer.from(Data!).toString()))), [0, 1, 2])
})

test('azure_logs_ingestion: one token serves several batches, and a rejected one is replaced', async (t) => {
  const sink = await cases.azure_logs_ingestion.start(t)
  const target = createTestTarget(t, cases.azure_logs_ingestion.settings(sink), sink)
  const accept = sink.respond
  const paths = () => sink.arrivals.map(({ path }) => path.split('/').at(-1))

  await target.deliver(outboundEvents(1), never)
  await target.deliver(outboundEvents(1), never)
  assert.deepEqual(paths(), ['token', 'Custom-Events_CL', 'Custom-Events_CL'])

  sink.respond = () => ({ status: 401 })
  const outcome = await firstOutcome(target)
  assert.match(!outcome.delivered ? outcome.error : '', /answered 401: the token is not accepted/)
  sink.respond = accept
  assert.deepEqual(failures(await target.deliver(outboundEvents(1), never)), [false])
  assert.deepEqual(paths().slice(3), ['Custom-Events_CL', 'token', 'Custom-Events_CL'])
})

test('azure_logs_ingestion: a wrong client secret fails with the answer of the sign-in', async (t) => {
  const sink = await startSink(t, () => ({ status: 401, body: '{"error":"invalid_client"}' }))
  const target = createTestTarget(t, cases.azure_logs_ingestion.settings(sink), sink)

  const outcome = await firstOutcome(target)

  assert.match(!outcome.delivered ? outcome.error : '', /The sign-in of the application answered 401/)
})

test('s3: a compressed file has Content-Encoding gzip and the same lines', async (t) => {
  const cloud = await startCloud(t, () => ({ status: 200 }))
  const target = createTestTarget(t, { s3: { ...S3, compression: true } }, cloud)

  await target.deliver(outboundEvents(3), never)

  const [{ path, headers, body }] = cloud.arrivals as [ReceivedRequest]
  assert.match(path, /\.ndjson\.gz$/)
  assert.equal(headers['content-encoding'], 'gzip')
  assert.equal(gunzipSync(body).toString().trim().split('\n').length, 3)
})

test('s3: files close at the configured size and age', (t) => {
  const target = createTestTarget(t, { s3: S3 }, { url: 'http://127.0.0.1:1' })

  assert.equal(target.limits.maxBytes, 1_000_000)
  assert.equal(target.limits.lingerMs, 60_000)
})

test('cloudwatch_logs: events of different days are sent in order and in separate requests', async (t) => {
  const cloud = await startCloud(t, () => json({}))
  const target = createTestTarget(t, cases.cloudwatch_logs.settings(cloud), cloud)
  const day = 24 * 60 * 60 * 1000
  const batch = outboundEvents(3).map((event, index) => ({
    ...event,
    time: BASE_TIME + [2 * day, 0, 1000][index]!,
  }))

  const outcomes = await target.deliver(batch, never)

  assert.deepEqual(failures(outcomes), [false, false, false])
  const sent = cloud.arrivals.map(({ body }) => JSON.parse(body.toString()).logEvents)
  assert.deepEqual(
    sent.map((events) => events.map(({ timestamp }: { timestamp: number }) => timestamp - BASE_TIME)),
    [[0, 1000], [2 * day]],
  )
})

test('cloudwatch_logs: events that are too old fail for good, events that are too new are retried', async (t) => {
  const cloud = await startCloud(t, () =>
    json({ rejectedLogEventsInfo: { tooOldLogEventEndIndex: 1, tooNewLogEventStartIndex: 2 } }),
  )
  const target = createTestTarget(t, cases.cloudwatch_logs.settings(cloud), cloud)

  const outcomes = await target.deliver(outboundEvents(3), never)

  assert.deepEqual(failures(outcomes), [true, false, true])
  assert.deepEqual(
    outcomes.map((outcome) => !outcome.delivered && outcome.final === true),
    [true, false, false],
  )
})

test('webhook: a 410 response marks the endpoint as gone', async (t) => {
  const sink = await startSink(t, () => ({ status: 410 }))
  const target = createTestTarget(t, cases.webhook.settings(sink), sink)

  const outcome = await firstOutcome(target)

  assert.equal(!outcome.delivered && outcome.gone, true)
})

test('webhook: a redirect is a failure and is not followed', async (t) => {
  const inner = await startSink(t, () => ({ status: 200 }))
  const sink = await startSink(t, () => ({ status: 307, headers: { location: inner.url } }))
  const target = createTestTarget(t, cases.webhook.settings(sink), sink)

  const outcome = await firstOutcome(target)

  assert.equal(!outcome.delivered && outcome.error, 'The webhook answered 307.')
  assert.equal(inner.arrivals.length, 0)
})

async function firstOutcome(target: DeliveryTarget): Promise<DeliveryOutcome> {
  try {
    return (await target.deliver(outboundEvents(1), never))[0]!
  } catch (error) {
    return toFailure(error)
  }
}
