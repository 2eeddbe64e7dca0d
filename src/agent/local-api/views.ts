import { parse as parseYaml } from 'yaml'
import { parseHead, parseHeaderFields } from '../http1.ts'
import type { Capture } from '../inspector/capture-store.ts'
import type { CapturedFrame, FrameLog } from '../inspector/frame-log.ts'
import type { MessageCopy } from '../inspector/message-copy.ts'
import { formatRfc3339 } from '../log/format.ts'
import type { AgentTunnel } from '../tunnels/tunnel.ts'
import type {
  CapturedMessage,
  CaptureTiming,
  CaptureView,
  FramesSummary,
  FrameView,
  TunnelMetrics,
  TunnelView,
} from './page-data.ts'

/** Percent-encodes everything except letters, digits and `-_.~`, for use in a path. */
function encodeName(name: string): string {
  return encodeURIComponent(name).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function metricsView(tunnel: AgentTunnel): TunnelMetrics {
  const { count, ...rest } = tunnel.connections.snapshot()
  return { conns: { count, gauge: tunnel.connections.gauge, ...rest }, http: tunnel.requests.snapshot() }
}

/** The JSON of a tunnel (docs/local-api.md), with the `ID` that clients also expect. */
export function tunnelView(tunnel: AgentTunnel): TunnelView {
  return {
    name: tunnel.name,
    ID: tunnel.id,
    uri: `/api/tunnels/${encodeName(tunnel.name)}`,
    public_url: tunnel.publicUrl,
    proto: tunnel.proto,
    config: { addr: tunnel.spec.upstream.text, inspect: tunnel.inspected },
    metrics: metricsView(tunnel),
  }
}

/** The JSON of the same tunnel as an endpoint; wrappers look for `public_url` and `config` here too. */
export function endpointView(tunnel: AgentTunnel, withMetrics: boolean): object {
  const { spec } = tunnel
  return {
    id: tunnel.id,
    name: tunnel.name,
    uri: `/api/endpoints/${encodeName(tunnel.name)}`,
    url: tunnel.publicUrl,
    public_url: tunnel.publicUrl,
    proto: tunnel.proto,
    config: { addr: spec.upstream.text, inspect: tunnel.inspected },
    bindings: spec.bindings.length > 0 ? spec.bindings : ['public'],
    description: spec.description,
    metadata: spec.metadata,
    inspect: tunnel.inspected,
    pooling_enabled: spec.poolingEnabled,
    pooling_weight: spec.poolingWeight,
    traffic_policy: policyView(spec.endpoint.trafficPolicy),
    upstream: { url: spec.endpoint.upstreamUrl, protocol: spec.endpoint.protocol },
    ...(withMetrics ? { metrics: metricsView(tunnel) } : {}),
  }
}

/** The policy as an object, whether it was given as YAML, JSON or a map; typed clients cannot read text here. */
function policyView(text: string): object | null {
  if (text === '') return null
  try {
    const policy: unknown = parseYaml(text)
    return typeof policy === 'object' ? policy : null
  } catch {
    return null
  }
}

/** The JSON of a captured request (docs/local-api.md); a summary omits the bytes. */
export function captureView(capture: Capture, summary = false): CaptureView {
  const { request, response } = capture
  const { line } = parseHead(request.head)
  const [method = '', uri = '', proto = ''] = line.split(' ')
  return {
    uri: `/api/requests/http/${capture.id}`,
    id: capture.id,
    tunnel_name: capture.tunnelName,
    remote_addr: capture.remoteAddr,
    start: formatRfc3339(new Date(capture.startedAt)),
    duration: capture.durationNs,
    request: { method, ...messageView(request, proto, summary), uri },
    response: response ? responseView(response, summary) : null,
    replayable: capture.replayable,
    in_flight: capture.open,
    pinned: capture.pinned,
    ...(capture.responseStartNs === undefined
      ? {}
      : { timing: timingView(capture, capture.responseStartNs) }),
    ...(capture.frames ? { frames: framesSummary(capture.id, capture.frames) } : {}),
    ...(capture.actions.length > 0 ? { policy: capture.actions } : {}),
    ...(capture.error === undefined ? {} : { error: capture.error }),
  }
}

/** A response may begin before the request is complete. */
function timingView({ requestNs, durationNs }: Capture, responseStartNs: number): CaptureTiming {
  const request = Math.min(requestNs ?? responseStartNs, responseStartNs)
  return { request, wait: responseStartNs - request, response: durationNs - responseStartNs }
}

/** The state of an exchange's frames, without the frames. */
export function framesSummary(
  id: string,
  { total, dropped, open, stopReason: stopped }: FrameLog,
): FramesSummary {
  return {
    uri: `/api/requests/http/${id}/frames`,
    total,
    dropped,
    open,
    ...(stopped === undefined ? {} : { stopped }),
  }
}

/** One WebSocket message or server-sent event; the payload is text if it is textual, base64 otherwise. */
export function frameView(frame: CapturedFrame): FrameView {
  const { index, time, from, kind, opcode, fragments, size, truncated, compressed, decoded, event, eventId } =
    frame
  return {
    index,
    time: formatRfc3339(new Date(time)),
    from,
    kind,
    ...(opcode === undefined ? {} : { opcode, fragments }),
    ...(event === undefined ? {} : { event, ...(eventId === undefined ? {} : { id: eventId }) }),
    size,
    ...payloadView(frame),
    truncated,
    ...(compressed ? { compressed, decoded } : {}),
  }
}

function payloadView({
  kind,
  payload,
  compressed,
  decoded,
}: CapturedFrame): Pick<FrameView, 'text' | 'base64' | 'close_code'> {
  if (compressed && !decoded) return { base64: payload.toString('base64') }
  if (kind === 'text' || kind === 'event') return { text: payload.toString('utf8') }
  if (kind === 'close' && payload.length >= 2)
    return { close_code: payload.readUInt16BE(0), text: payload.toString('utf8', 2) }
  return { base64: payload.toString('base64') }
}

function responseView(response: MessageCopy, summary: boolean): NonNullable<CaptureView['response']> {
  const { line } = parseHead(response.head)
  return {
    status: line.slice(line.indexOf(' ') + 1),
    status_code: Number(line.slice(9, 12)),
    ...messageView(response, line.slice(0, 8), summary),
  }
}

function messageView(message: MessageCopy, proto: string, summary: boolean): CapturedMessage {
  return {
    proto,
    headers: headersView(message.head),
    ...(summary ? {} : { raw: message.raw().toString('base64') }),
    body_size: message.bodyBytes,
    truncated: message.truncated,
    ...(message.exact ? {} : { redacted: true }),
  }
}

/** Groups header values by canonical name, in order. */
function headersView(head: Buffer): Record<string, string[]> {
  const headers: Record<string, string[]> = Object.create(null)
  for (const [name, value] of parseHeaderFields(head)) {
    const canonicalName = name.toLowerCase().replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
    const values = headers[canonicalName]
    if (values) values.push(value)
    else headers[canonicalName] = [value]
  }
  return headers
}
