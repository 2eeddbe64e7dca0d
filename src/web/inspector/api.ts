import type {
  AgentStatus,
  CaptureView,
  DecodedBodyView,
  FramesSummary,
  FrameView,
  ReplayChanges,
  TunnelView,
} from '../../agent/local-api/page-data.ts'

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

/** Loads a body decoded by the agent, for encodings the browser does not support. */
export const getDecodedBody = (id: string, side: 'request' | 'response') =>
  get<DecodedBodyView>(`/api/requests/http/${encodeURIComponent(id)}/body?side=${side}`)

/** All running tunnels. */
export const listTunnels = async () => (await get<{ tunnels: TunnelView[] }>('/api/tunnels')).tunnels

/** The agent's connection and version. */
export const getStatus = () => get<AgentStatus>('/api/status')

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

/** Pins or unpins a captured request. */
export async function pinCapture(id: string, pinned: boolean): Promise<void> {
  await callApi(`/api/requests/http/${encodeURIComponent(id)}/pin`, { method: pinned ? 'PUT' : 'DELETE' })
}

/** Deletes all captured requests that are not pinned. */
export async function clearCaptures(): Promise<void> {
  await callApi('/api/requests/http?keep_pinned=true', { method: 'DELETE' })
}
