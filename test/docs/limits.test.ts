import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { defaultLimits, type LimitSettings } from '../../src/edge/limits.ts'
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

const documents = readFile(join(import.meta.dirname, '..', '..', 'docs', 'operations.md'), 'utf8')

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
