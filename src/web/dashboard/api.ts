import type { LinkView, Role, SessionView } from '../../dashboard/page-data.ts'

export type { LinkView, Role, SessionView }

/** An error response of the API; `field` is the dotted path of the invalid field, if any. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly field: string | undefined
  readonly details: Readonly<Record<string, unknown>>

  constructor(status: number, code: string, message: string, details: Record<string, unknown> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.field = typeof details.field === 'string' ? details.field : undefined
    this.details = details
  }

  /** The server, or the proxy in front of it, cannot respond at the moment. */
  get isOutage(): boolean {
    return this.status === 0 || (this.status >= 502 && this.status <= 504)
  }
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const NOT_RESPONDING = 'The server is not responding. Check that it is running and that you are online.'

let csrf = ''
let onSessionEnded: () => void = () => {}
let sessionRenewal = Promise.withResolvers<void>()

/** Sets the session whose CSRF token every call carries. */
export function setApiSession(session: SessionView | undefined, onEnded: () => void): void {
  csrf = session?.csrf ?? ''
  onSessionEnded = onEnded
  sessionRenewal.resolve()
  sessionRenewal = Promise.withResolvers()
}

async function call<T>(method: Method, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { 'x-csrf-token': csrf }
  if (body !== undefined) headers['content-type'] = 'application/json'
  let response: Response
  try {
    response = await fetch(path, {
      method,
      headers,
      credentials: 'same-origin',
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiError(0, '', NOT_RESPONDING)
  }
  if (response.ok) return (response.status === 204 ? undefined : await readJson(response)) as T
  const apiError = await parseError(response)
  if (response.status !== 401 || csrf === '' || path === '/dashboard/api/session') throw apiError
  // Reads are retried after the user has signed in again; writes are left to the user to repeat.
  const renewal = headers['x-csrf-token'] === csrf ? sessionRenewal.promise : undefined
  if (renewal) onSessionEnded()
  if (method !== 'GET') throw apiError
  await renewal
  return call<T>(method, path, body, signal)
}

/** A response as the server sent it. */
export interface RawResponse {
  readonly status: number
  readonly statusText: string
  readonly text: string
}

/** Sends a request whose body is already text, and returns the response whatever its status. */
export async function sendRaw(method: Method, path: string, body: string | undefined): Promise<RawResponse> {
  const headers: Record<string, string> = { 'x-csrf-token': csrf }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const response = await fetch(path, {
    method,
    headers,
    credentials: 'same-origin',
    ...(body !== undefined && { body }),
  }).catch(() => {
    throw new ApiError(0, '', NOT_RESPONDING)
  })
  if (response.status === 401 && csrf !== '') onSessionEnded()
  return { status: response.status, statusText: response.statusText, text: await response.text() }
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text()
  return text === '' ? undefined : JSON.parse(text)
}

async function parseError(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as {
    error_code?: string
    msg?: string
    details?: Record<string, unknown>
  }
  return new ApiError(
    response.status,
    body.error_code ?? '',
    body.msg ?? `The server returned ${response.status} ${response.statusText}.`,
    body.details,
  )
}

/** Client of the management API and of the dashboard's own routes, with the session of this page. */
export const api = {
  get: <T>(path: string, signal?: AbortSignal) => call<T>('GET', path, undefined, signal),
  post: <T>(path: string, body?: unknown) => call<T>('POST', path, body),
  put: <T>(path: string, body?: unknown) => call<T>('PUT', path, body),
  patch: <T>(path: string, body?: unknown) => call<T>('PATCH', path, body),
  delete: <T>(path: string, body?: unknown) => call<T>('DELETE', path, body),
}

/** Streams the text of a response. EventSource cannot send the CSRF header, so this uses fetch. */
export async function* openStream(path: string, signal: AbortSignal): AsyncGenerator<string> {
  const response = await fetch(path, {
    headers: { 'x-csrf-token': csrf },
    credentials: 'same-origin',
    signal,
  })
  if (!response.ok) {
    if (response.status === 401 && csrf !== '') onSessionEnded()
    throw await parseError(response)
  }
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield value
  }
}

/** The message of anything thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
