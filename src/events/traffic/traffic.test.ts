import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KsuidGenerator } from '../../base/values/id.ts'
import { TRAFFIC_FIELDS } from '../../resources/index.ts'
import { type FinishedRequest, HTTP_REQUEST, TCP_CONNECTION, trafficKinds } from './traffic.ts'
import { TrafficRecorder } from './traffic-event.ts'

const connection = {
  scheme: 'https',
  remoteAddress: '192.0.2.7',
  localAddress: '198.51.100.1',
  localPort: 443,
  serverName: undefined,
  tls: {
    version: 'TLSv1.3',
    cipher: 'TLS_AES_128_GCM_SHA256',
    peer: { commonName: 'ann', serialNumber: '0a' },
  },
  startedAt: Date.UTC(2026, 0, 2),
}
const request: FinishedRequest = {
  accountId: 'ac_1',
  connection,
  endedAt: Date.UTC(2026, 0, 2, 1),
  method: 'GET',
  host: 'shop.example.com:8443',
  target: '/a?b=1?2',
  requestFields:
    'User-Agent: curl\r\nX-Kind: a\r\nx-kind: b\r\nAuthorization: Bearer canary\r\nCookie: canary\r\n__proto__: x\r\n',
  requestBodyLength: 3,
  status: 200,
  responseFields: 'Set-Cookie: canary\r\nContent-Type: text/plain\r\n',
  responseBodyLength: 4,
  connectionReused: false,
  annotations: { 'ip_policy.decision': 'allow', 'compression.bytes_saved': 0 },
}

function serializeTraffic(type: string, fields: readonly string[], event: unknown) {
  const recorder = new TrafficRecorder<never>(type, 'ac_1', fields, trafficKinds[type]!)
  const captured = recorder.capture(new KsuidGenerator('ev'), event as never, Date.UTC(2026, 0, 2, 1))
  const { body } = captured
  assert.equal(captured.body, body, 'serialized identically every time')
  assert.equal(JSON.parse(captured.quoted!), body)
  assert.ok(body.length <= captured.size! * 2, 'no larger than the estimate')
  return JSON.parse(body)
}

const everyField = (type: string) => [...TRAFFIC_FIELDS[type]!]

test('a request event has the fields that a subscription selects', () => {
  const fields = [
    'conn.client_ip',
    'http.request.url.path',
    'http.request.url.query',
    'http.response.status_code',
    'ip_policy.decision',
    'oauth.user.id',
    'backend.connection_reused',
  ]

  const object = serializeTraffic(HTTP_REQUEST, fields, request).object

  assert.deepEqual(object, {
    conn: { client_ip: '192.0.2.7' },
    http: { request: { url: { path: '/a', query: 'b=1?2' } }, response: { status_code: 200 } },
    ip_policy: { decision: 'allow' },
    oauth: { user: { id: null } },
    backend: { connection_reused: false },
  })
})

test('headers are lists by lower-case name, without credentials', () => {
  const { object } = serializeTraffic(HTTP_REQUEST, everyField(HTTP_REQUEST), request)

  assert.deepEqual(object.http.request.headers, {
    'user-agent': ['curl'],
    'x-kind': ['a', 'b'],
    authorization: ['[hidden]'],
    cookie: ['[hidden]'],
    ['__proto__']: ['x'],
  })
  const everything = JSON.stringify(object)
  assert.doesNotMatch(everything, /canary/)
  assert.match(everything, /"server_name":"shop.example.com"/)
  assert.match(everything, /"cn":"ann"/)
  assert.match(everything, /"raw":"https:\/\/shop.example.com:8443\/a\?b=1\?2"/)
})

test('a connection event has its bytes and times', () => {
  const closed = {
    accountId: 'ac_1',
    connection,
    endedAt: connection.startedAt + 1500,
    bytesIn: 0,
    bytesOut: 9,
    annotations: {},
    logs: [{ kind: 'partner' }],
  }

  const event = serializeTraffic(TCP_CONNECTION, everyField(TCP_CONNECTION), closed)

  assert.match(event.event_id, /^ev_[0-9A-Za-z]{27}$/)
  const { event_id: _, ...rest } = event
  assert.deepEqual(rest, {
    event_type: TCP_CONNECTION,
    event_timestamp: '2026-01-02T01:00:00.000Z',
    account_id: 'ac_1',
    sequence: 1,
    principal: null,
    object: {
      conn: {
        client_ip: '192.0.2.7',
        server_name: null,
        server_ip: '198.51.100.1',
        server_port: 443,
        start_ts: '2026-01-02T00:00:00.000Z',
        bytes_in: 0,
        bytes_out: 9,
        end_ts: '2026-01-02T00:00:01.500Z',
      },
      ip_policy: { decision: null },
      traffic_policy: { logs: [{ kind: 'partner' }] },
    },
  })
})
