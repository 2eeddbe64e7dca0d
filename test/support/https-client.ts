import { request as requestPlain } from 'node:http'
import { type RequestOptions, request as requestTls } from 'node:https'

/** A request to send. */
export interface TestRequest {
  readonly host: string
  readonly path?: string
  readonly method?: string
  readonly headers?: Record<string, string | string[]>
  readonly body?: string | Buffer
  /** The SNI server name, when it differs from the host. */
  readonly servername?: string
  readonly tls?: RequestOptions
  /** The client's address, and the server's when it is not 127.0.0.1. */
  readonly from?: string
  readonly to?: string
}

/** The response; status 0 with the reason when there was none. */
export interface TestResponse {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: Buffer
  readonly text: string
  readonly error: string
}

/** Sends a request over TLS on a new connection. */
export function sendHttps(port: number, ca: string, request: TestRequest): Promise<TestResponse> {
  const { host, servername = host, tls } = request
  return send((options) => requestTls({ ...options, ca, servername, agent: false, ...tls }), port, request)
}

/** Sends a request in plaintext on a new connection. */
export function sendHttp(port: number, request: TestRequest): Promise<TestResponse> {
  return send((options) => requestPlain({ ...options, agent: false }), port, request)
}

function send(
  open: (options: RequestOptions) => ReturnType<typeof requestPlain>,
  port: number,
  { host, path = '/', method = 'GET', headers = {}, body, from, to = '127.0.0.1' }: TestRequest,
): Promise<TestResponse> {
  return new Promise((resolve) => {
    const fail = (error: Error & { code?: string }) =>
      resolve({
        status: 0,
        headers: {},
        body: Buffer.alloc(0),
        text: '',
        error: `${error.code ?? ''} ${error.message}`,
      })
    const request = open({
      port,
      host: to,
      ...(from !== undefined && { localAddress: from }),
      path,
      method,
      headers: { host, ...headers },
      timeout: 10_000,
    })
    request.on('error', fail)
    request.on('timeout', () => request.destroy(new Error('no response in time')))
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', fail)
      response.on('end', () => {
        const content = Buffer.concat(chunks)
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: content,
          text: content.toString(),
          error: '',
        })
      })
    })
    request.end(body)
  })
}
