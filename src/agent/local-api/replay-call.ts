import type { Agent } from '../agent.ts'
import { isRecord } from '../config/shape.ts'
import {
  applyChanges,
  ChangeError,
  type HeaderChanges,
  type RequestChanges,
  replayProblem,
} from '../replay/modified-request.ts'
import { replay } from '../replay/replay.ts'
import { problem, throwNotFound } from './problem.ts'

/** Limit for the body of a replay call: a captured body of maximum size, encoded in JSON. */
export const MAX_REPLAY_BYTES = 8 * 1024 * 1024

const CHANGE_FIELDS = ['method', 'path', 'headers', 'body', 'body_base64']

/** Replays a captured request, with the changes of the call if there are any (docs/local-api.md). */
export function handleReplay({ captures, tunnels }: Agent, body: unknown): void {
  const fields = isRecord(body) ? body : {}
  // Some clients send the second field as `tunnelName`.
  const { id, tunnel_name: name = fields.tunnelName } = fields
  if (typeof id !== 'string' || id === '')
    throw problem.malformed('id is required: the id of a captured request')
  if (name !== undefined && name !== null && typeof name !== 'string')
    throw problem.malformed('tunnel_name must be a string')
  const changes = parseChanges(fields.changes)
  const capture = captures.get(id) ?? throwNotFound('captured request', id)
  const target = name ?? capture.tunnelName
  const tunnel = tunnels.get(target) ?? throwNotFound('tunnel', target)
  if (tunnel.spec.kind !== 'http' && tunnel.spec.kind !== 'labelled') {
    throw problem.notReplayable(`the tunnel "${target}" is not an HTTP tunnel`)
  }
  if (tunnel.spec.forwardsProto === 'http2') {
    throw problem.notReplayable(
      `the upstream of the tunnel "${target}" uses HTTP/2, but requests are captured as HTTP/1`,
    )
  }
  const reason = replayProblem(capture.request, changes)
  if (reason !== undefined) throw problem.notReplayable(reason)
  replay(
    changes ? applyOrReject(() => applyChanges(capture.request, changes)) : capture.request.raw(),
    tunnel,
  )
}

function applyOrReject(apply: () => Buffer): Buffer {
  try {
    return apply()
  } catch (error) {
    if (error instanceof ChangeError) throw problem.malformed(error.message)
    throw error
  }
}

function parseChanges(value: unknown): RequestChanges | undefined {
  if (value === undefined || value === null) return undefined
  if (!isRecord(value)) throw problem.malformed('changes must be an object')
  const unknown = Object.keys(value).find((key) => !CHANGE_FIELDS.includes(key))
  if (unknown !== undefined) {
    throw problem.malformed(
      `changes has no field "${unknown.slice(0, 100)}"; allowed fields: ${CHANGE_FIELDS.join(', ')}`,
    )
  }
  const { headers } = value
  const method = parseText(value, 'method')
  const path = parseText(value, 'path')
  const body = parseBody(parseText(value, 'body'), parseText(value, 'body_base64'))
  if (headers !== undefined && !isHeaderChanges(headers)) {
    throw problem.malformed(
      'changes.headers must be a list of [name, value], or an object with a string, a list of strings or null for each name',
    )
  }
  return {
    ...(method === undefined ? {} : { method }),
    ...(path === undefined ? {} : { path }),
    ...(headers === undefined ? {} : { headers }),
    ...(body === undefined ? {} : { body }),
  }
}

function parseText(fields: Record<string, unknown>, key: string): string | undefined {
  const value = fields[key]
  if (value !== undefined && typeof value !== 'string')
    throw problem.malformed(`changes.${key} must be a string`)
  return value
}

function parseBody(text: string | undefined, base64: string | undefined): Buffer | undefined {
  if (text !== undefined && base64 !== undefined)
    throw problem.malformed('changes.body and changes.body_base64 are mutually exclusive')
  if (base64 === undefined) return text === undefined ? undefined : Buffer.from(text)
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64') !== base64)
    throw problem.malformed('changes.body_base64 must be padded base64')
  return bytes
}

function isHeaderChanges(value: unknown): value is HeaderChanges {
  if (Array.isArray(value))
    return value.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(isText))
  if (!isRecord(value)) return false
  return Object.values(value).every(
    (item) => item === null || isText(item) || (Array.isArray(item) && item.every(isText)),
  )
}

const isText = (value: unknown): value is string => typeof value === 'string'
