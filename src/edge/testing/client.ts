import { request as requestPlain } from 'node:http'
import { type RequestOptions, request as requestTls } from 'node:https'

/** What a visitor sends. */
export interface Question {
  readonly host: string
  readonly path?: string
  readonly method?: string
  readonly headers?: Record<string, string | string[]>
  readonly body?: string | Buffer
  /** The server name of the handshake, when it is not the host. */
  readonly servername?: string
  readonly tls?: RequestOptions
}

/** What came back; status 0 with the reason when there was no answer. */
export interface Reply {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: Buffer
  readonly text: string
  readonly error: string
}

/** Asks over TLS on a connection of its own. */
export function askSecurely(port: number, ca: string, question: Question): Promise<Reply> {
  const { host, servername = host, tls } = question
  return ask((options) => requestTls({ ...options, ca, servername, agent: false, ...tls }), port, question)
}

/** Asks in clear on a connection of its own. */
export function askPlainly(port: number, question: Question): Promise<Reply> {
  return ask((options) => requestPlain({ ...options, agent: false }), port, question)
}

function ask(
  start: (options: RequestOptions) => ReturnType<typeof requestPlain>,
  port: number,
  { host, path = '/', method = 'GET', headers = {}, body }: Question,
): Promise<Reply> {
  return new Promise((resolve) => {
    const failed = (error: Error & { code?: string }) =>
      resolve({
        status: 0,
        headers: {},
        body: Buffer.alloc(0),
        text: '',
        error: `${error.code ?? ''} ${error.message}`,
      })
    const request = start({
      port,
      host: '127.0.0.1',
      path,
      method,
      headers: { host, ...headers },
      timeout: 10_000,
    })
    request.on('error', failed)
    request.on('timeout', () => request.destroy(new Error('no answer in time')))
    request.on('response', (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('error', failed)
      response.on('end', () => {
        const whole = Buffer.concat(pieces)
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: whole,
          text: whole.toString(),
          error: '',
        })
      })
    })
    request.end(body)
  })
}
