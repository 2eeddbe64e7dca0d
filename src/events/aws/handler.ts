import { Readable } from 'node:stream'
import type { Outbound } from '../../base/outbound/outbound.ts'

/** A request of the SDK. */
interface SdkRequest {
  readonly method: string
  readonly protocol: string
  readonly hostname: string
  readonly port?: number
  readonly path: string
  readonly query?: Readonly<Record<string, string | string[] | null>>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

// Derived again from URL and body, or hop-by-hop; the SDK signs none of them except the host, which has the same value in
// the URL.
const SKIPPED_HEADERS = new Set(['host', 'content-length', 'connection', 'expect', 'transfer-encoding'])

/** Sends the requests of the SDK through the guarded outbound client, which the SDK's own handlers would bypass (P45). */
export function createAwsHandler(outbound: Pick<Outbound, 'fetch'>) {
  return {
    metadata: { handlerProtocol: 'http/1.1' },
    async handle(request: SdkRequest, { abortSignal }: { abortSignal?: unknown } = {}) {
      const response = await outbound.fetch(toUrl(request), {
        method: request.method,
        headers: Object.entries(request.headers).filter(([name]) => !SKIPPED_HEADERS.has(name.toLowerCase())),
        body: (request.body as string | Uint8Array<ArrayBuffer> | undefined) ?? null,
        ...(abortSignal instanceof AbortSignal ? { signal: abortSignal } : {}),
      })
      return {
        response: {
          statusCode: response.status,
          reason: response.statusText,
          headers: Object.fromEntries(response.headers),
          body: Readable.from([Buffer.from(await response.arrayBuffer())]),
        },
      }
    },
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
    destroy() {},
  }
}

function toUrl({ protocol, hostname, port, path, query = {} }: SdkRequest): string {
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    value === null
      ? [encodeURIComponent(name)]
      : [value].flat().map((item) => `${encodeURIComponent(name)}=${encodeURIComponent(item)}`),
  )
  const queryString = parameters.length === 0 ? '' : `?${parameters.join('&')}`
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}${queryString}`
}
