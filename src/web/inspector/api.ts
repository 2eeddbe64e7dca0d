/** One side of a captured exchange; summaries omit `raw` (base64). */
export interface CapturedMessage {
  proto: string
  headers: Record<string, string[]>
  raw?: string
  body_size: number
  truncated: boolean
  redacted?: boolean
}

/** The JSON of a captured request (docs/local-api.md). */
export interface CaptureView {
  id: string
  tunnel_name: string
  remote_addr: string
  start: string
  /** Nanoseconds. */
  duration: number
  request: CapturedMessage & { method: string; uri: string }
  response: (CapturedMessage & { status: string; status_code: number }) | null
  replayable: boolean
  in_flight: boolean
  frames?: FramesSummary
  error?: string
}

/** The number and state of the WebSocket messages or events of an exchange. */
export interface FramesSummary {
  total: number
  dropped: number
  open: boolean
  stopped?: string
}

/** One WebSocket message or server-sent event. */
export interface FrameView {
  index: number
  time: string
  from: 'client' | 'server'
  kind: 'text' | 'binary' | 'close' | 'ping' | 'pong' | 'event'
  opcode?: number
  fragments?: number
  event?: string
  id?: string
  size: number
  text?: string
  base64?: string
  close_code?: number
  truncated: boolean
  compressed?: boolean
  decoded?: boolean
}

/** Counts, rates and durations; `gauge` only for connections. */
export interface TimingView {
  count: number
  gauge?: number
  rate1: number
  rate5: number
  rate15: number
  p50: number
  p90: number
  p95: number
  p99: number
}

/** A running tunnel. */
export interface TunnelView {
  ID: string
  name: string
  public_url: string
  proto: string
  config: { addr: string; inspect: boolean }
  metrics: { conns: TimingView; http: TimingView }
}

/** The JSON of the agent's status. */
export interface AgentStatus {
  status: string
  agent_version: string
  session: { id: string; account: string; legs: { region: string; latency: string }[] }
  inspect_db_size: number
  update_available?: string
}

/** An error response of the agent, or status 0 if it cannot be reached. */
export class LocalApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

async function callApi(path: string, init?: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(path, init)
  } catch {
    throw new LocalApiError(0, 'The agent is not responding. Is it still running?')
  }
  if (response.ok) return response
  const body = (await response.json().catch(() => ({}))) as { msg?: string; details?: { err?: string } }
  throw new LocalApiError(
    response.status,
    body.details?.err ?? body.msg ?? `The agent returned status ${response.status}.`,
  )
}

async function get<T>(path: string): Promise<T> {
  return (await (await callApi(path)).json()) as T
}

/** A page of captures, newest first; with `beforeId`, only older ones. */
export async function listCaptures(
  limit: number,
  beforeId: string | undefined,
  summary: boolean,
): Promise<CaptureView[]> {
  const query = new URLSearchParams({ limit: String(limit) })
  if (beforeId !== undefined) query.set('before_id', beforeId)
  if (summary) query.set('summary', 'true')
  return (await get<{ requests: CaptureView[] }>(`/api/requests/http?${query}`)).requests
}

/** One capture with its bytes. */
export const getCapture = (id: string) => get<CaptureView>(`/api/requests/http/${encodeURIComponent(id)}`)

/** The frames of a capture after an index, oldest first. */
export const listFrames = (id: string, after: number, limit: number) =>
  get<FramesSummary & { frames: FrameView[] }>(
    `/api/requests/http/${encodeURIComponent(id)}/frames?after=${after}&limit=${limit}`,
  )

/** A body decoded by the agent. */
export interface DecodedBodyView {
  decoded: string[]
  problem?: string
  base64: string
}

/** Loads a body decoded by the agent, for encodings the browser does not support. */
export const getDecodedBody = (id: string, side: 'request' | 'response') =>
  get<DecodedBodyView>(`/api/requests/http/${encodeURIComponent(id)}/body?side=${side}`)

/** All running tunnels. */
export const listTunnels = async () => (await get<{ tunnels: TunnelView[] }>('/api/tunnels')).tunnels

/** The agent's connection and version. */
export const getStatus = () => get<AgentStatus>('/api/status')

/** Changes to a replayed request (docs/local-api.md). */
export interface ReplayChanges {
  method?: string
  path?: string
  headers?: [name: string, value: string][]
  body?: string
}

/** Replays a captured request, to its own tunnel or another, optionally with changes. */
export async function replayCapture(
  id: string,
  tunnelName: string | undefined,
  changes?: ReplayChanges,
): Promise<void> {
  await callApi('/api/requests/http', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ id, tunnel_name: tunnelName, changes }),
  })
}

/** Deletes all captured requests. */
export async function clearCaptures(): Promise<void> {
  await callApi('/api/requests/http', { method: 'DELETE' })
}
