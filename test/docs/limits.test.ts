import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { defaultLimits, type LimitSettings } from '../../src/edge/contracts/limits.ts'
import { MAX_FIELDS, MAX_HEAD_BYTES, MAX_TARGET_BYTES } from '../../src/edge/message/request-head.ts'
import {
  MAX_INTERIMS,
  MAX_RESPONSE_FIELDS,
  MAX_RESPONSE_HEAD_BYTES,
} from '../../src/edge/message/response-head.ts'

/** The row of docs/operations.md that says what each limit of the edge is; a new limit does not compile without one. */
const ROWS: Readonly<Record<keyof LimitSettings, string>> = {
  handshake: 'the TLS handshake',
  head: 'the head of a request',
  idle: 'a connection between two requests',
  drainIdle: 'a connection between two requests',
  heldBody: 'a body that a module or action reads',
  progress: 'a visitor does not read',
  response: 'neither side of a request sends a byte',
  linger: 'reading on after a response',
  halfClosed: 'a visitor that has ended its side',
  halfWebSocket: 'one side of a WebSocket has ended',
  closedWebSocket: 'a WebSocket when the server stops',
  upstreamIdle: 'an unused connection to an upstream',
  goaway: 'exchanges in flight when the server stops',
  drain: 'exchanges in flight when the server stops',
}

/** What the documents say of further limits: where a limit is declared, and the text with its number. */
const TEXTS: Readonly<Record<string, readonly [file: string, name: string, text: string][]>> = {
  'operations.md': [
    ['edge/listeners/client-hello', 'MAX_HELLO_BYTES', '# KiB for the ClientHello'],
    ['edge/message/chunked', 'MAX_TRAILER_BYTES', '| # KiB and 100 fields, 1 KiB |'],
    ['edge/message/chunked', 'MAX_TRAILER_FIELDS', '| 4 KiB and # fields, 1 KiB |'],
    ['edge/message/chunked', 'MAX_EXTENSION_BYTES', '| 4 KiB and 100 fields, # KiB |'],
    ['edge/http/http2-connection', 'maxConcurrentStreams', '# at a time'],
    ['edge/http/http2-connection', 'streamResetBurst', '# that the visitor resets'],
    ['edge/http/http2-connection', 'streamResetRate', '# more each second'],
    ['edge/contracts/backend', 'MAX_ATTEMPTS', 'at most # targets'],
    ['edge/upstream/pool', 'MAX_IDLE_CONNECTIONS', '30 s, # for each session'],
    ['edge/contracts/held-body', 'perSource', '# MiB for a source'],
    ['edge/response/local-reply', 'perSource', '# MiB for a source'],
    ['edge/contracts/held-body', 'total', '# MiB in all'],
    ['edge/response/local-reply', 'total', '# MiB in all'],
    ['edge/backends/dialled-stream', 'CONNECT_TIMEOUT_MS', '| # s, at most 8 targets'],
    ['agent/forward/forwarder', 'DIAL_TIMEOUT_MS', '| # s, at most 8 targets'],
    ['sessions/session/agent-streams', 'QUEUE_TIMEOUT_MS', '| # s, 256 |'],
    ['sessions/session/agent-streams', 'MAX_QUEUED', '| 10 s, # |'],
    ['protocol/agent-session', 'MAX_PROXY_STREAMS', '# on each of its connections'],
    ['sessions/bind/bind', 'MAX_TUNNELS', 'at most # tunnels'],
    ['sessions/ssh/forwards', 'MAX_FORWARDS', '(# forwards over SSH)'],
    ['server/settings/connection-limits', 'MAX_RESERVE', 'at most #.'],
    ['base/io/sockets/holding-listener', 'MAX_HELD', 'up to # of them'],
    ['cluster/peer-listener', 'MAX_UNKNOWN', '# that have not introduced themselves'],
  ],
  'traffic-policy.md': [
    ['resources/modules/traffic-policy', 'MAX_POLICY_BYTES', '# KiB with its aliases expanded'],
    ['policy/document', 'MAX_RULES', '# rules in all phases'],
    ['policy/document', 'MAX_EXPRESSIONS', '# expressions and'],
    ['policy/document', 'MAX_ACTIONS', '# actions in each rule'],
    ['cel/parse', 'MAX_SOURCE_LENGTH', '# characters, 100 levels'],
    ['cel/parse', 'MAX_NESTING', '# levels of nesting'],
    ['edge/services/outbound-calls', 'MAX_CALLS_PER_ACCOUNT', '# of an account'],
    ['edge/services/outbound-calls', 'MAX_CALLS', '# of a process'],
    ['edge/services/outbound-calls', 'MAX_RESPONSE_BYTES', 'The answer has # KiB at most'],
    ['edge/policy/rates/rate-counter', 'MAX_KEYS', '`rate-limit` counts | #'],
    ['edge/policy/event-stream', 'MAX_MESSAGE_LENGTH', '`sse-find-replace` reads | # MiB'],
    ['edge/contracts/module', 'MAX_FORWARDS', 'one after another | #'],
  ],
  'management-api.md': [
    ['api/http/server', 'MAX_BODY_BYTES', '# MiB for a whole body'],
    ['api/http/strict-json', 'MAX_VALUES', 'at most #\n  values'],
    ['api/http/strict-json', 'MAX_DEPTH', 'on # levels'],
    ['api/resources/endpoints/edges', 'MAX_ROUTES', 'at most # routes'],
    ['api/resources/endpoints/ip-restrictions', 'MAX_RULES', 'an IP policy # rules'],
    ['api/resources/endpoints/endpoint-pools', 'MAX_MEMBERS', 'a URL # endpoints'],
    ['api/crud/paging', 'MAX_LIMIT', '`limit` is 1 to #'],
    ['api/crud/list-page', 'MAX_SCANNED', 'up to # objects'],
    ['api/http/authenticate', 'perMinute', 'answered # times a minute'],
    ['api/http/authenticate', 'burst', 'after the first #;'],
  ],
  'ssh.md': [
    ['sessions/ssh/login', 'MAX_FAILURES', 'at most # failed attempts'],
    ['sessions/ssh/login', 'MAX_REQUESTS', '# requests and'],
    ['sessions/ssh/channels', 'MAX_CHANNELS', 'at most #\nvisitors at once'],
    ['sessions/ssh/forwards', 'MAX_FORWARDS', 'at most # forwards'],
    ['sessions/ssh/ssh-connection', 'MAX_SCREENS', '# sessions with a command'],
    ['sessions/ssh/command-line', 'MAX_COMMAND_BYTES', 'arguments may have # KiB'],
  ],
  'modules.md': [
    ['edge/modules/webhook-verification', 'MAX_BODY_BYTES', 'at most # MiB (413'],
    ['edge/modules/webhook-message', 'MAX_FORM_PARAMETERS', 'at most # form'],
    ['edge/modules/webhook-message', 'MAX_JSON_VALUES', '# JSON values'],
  ],
  'dashboard.md': [
    ['dashboard/sign-in/browser-sessions', 'MAX_SESSIONS_PER_OWNER', '# sessions of a user'],
    ['dashboard/views/live', 'MAX_VIEWERS_PER_ACCOUNT', '# pages of an account'],
    ['dashboard/sign-in/passwords', 'MIN_LENGTH', '# characters'],
  ],
}

const root = join(import.meta.dirname, '..', '..')
const documents = readFile(join(root, 'docs', 'operations.md'), 'utf8')

/** The number with which a constant or a setting is declared first in a file; units such as MIB count as 1. */
async function readDeclared(file: string, name: string): Promise<number> {
  const source = await readFile(join(root, 'src', `${file}.ts`), 'utf8')
  const match = new RegExp(`\\b${name}(?:\\s=|:) (?:Math\\.\\w+\\()?([\\d_]+(?: \\* (?:[\\d_]+|MIB))*)`).exec(
    source,
  )
  assert.ok(match !== null, `${file} declares ${name}`)
  const factors = match[1]!.replaceAll('_', '').replaceAll('MIB', '1').split(' * ')
  return factors.reduce((product, factor) => product * Number(factor), 1)
}

/** A number as the documents write it before this unit. */
function formatNumber(value: number, text: string): string {
  const unit = { '# KiB': 1024, '# s,': 1000 }[text.match(/# (?:KiB|s,)/)?.[0] ?? '']
  if (unit !== undefined) return String(value / unit)
  if (text.includes('# MiB') && value >= 1024 * 1024) return String(value / 1024 / 1024)
  return value.toLocaleString('en-US')
}

for (const [document, limits] of Object.entries(TEXTS))
  test(`docs/${document} says each of its limits as the code has it`, async () => {
    const text = await readFile(join(root, 'docs', document), 'utf8')
    for (const [file, name, pattern] of limits) {
      const expected = pattern.replace('#', formatNumber(await readDeclared(file, name), pattern))
      assert.ok(text.includes(expected), `${name} of ${file}: "${expected}"`)
    }
  })

/** The second cell of the row that begins so. */
async function readValue(row: string): Promise<string> {
  const line = (await documents).split('\n').find((text) => text.startsWith(`| ${row}`))
  assert.ok(line !== undefined, `docs/operations.md has no row "${row}"`)
  return line.split('|')[2]!
}

function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${milliseconds} ms`
  return milliseconds < 120_000 ? `${milliseconds / 1000} s` : `${milliseconds / 60_000} min`
}

test('every time limit of the edge is in the documents with its value', async () => {
  for (const [name, row] of Object.entries(ROWS)) {
    const value = formatDuration(defaultLimits[name as keyof LimitSettings])
    assert.match(await readValue(row), new RegExp(`\\b${value}\\b`), name)
  }
})

test('every size limit of messages is in the documents with its value', async () => {
  const request = await readValue('the head of a request')
  const response = await readValue('the head of a response')

  for (const part of [
    `${MAX_HEAD_BYTES / 1024} KiB`,
    `${MAX_FIELDS} fields`,
    `${MAX_TARGET_BYTES / 1024} KiB`,
  ])
    assert.ok(request.includes(part), part)
  const parts = [`${MAX_RESPONSE_HEAD_BYTES / 1024} KiB`, `${MAX_RESPONSE_FIELDS} fields`]
  for (const part of [...parts, `${MAX_INTERIMS} interim`]) assert.ok(response.includes(part), part)
})
