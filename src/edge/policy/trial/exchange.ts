import type { ByteSource } from '../../../base/io/streams/coalescing-writer.ts'
import type { ClientConnection } from '../../contracts/connection.ts'
import { Exchange } from '../../contracts/exchange.ts'
import { HeldBody, holdBody } from '../../contracts/held-body.ts'
import { createDetachedRuntime } from '../../detached-runtime.ts'
import { HeaderFields } from '../../message/fields.ts'
import type { RequestHead } from '../../message/request-head.ts'

/** Max size of a request body in a trial. */
export const MAX_TRIAL_BODY_BYTES = 8 * 1024 * 1024

/** A response with its header fields in order. */
export interface TrialResponse {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer
}

/** A request with its response that no client and no upstream is connected to. */
export class TrialExchange extends Exchange {
  /** Settles with what the client gets; undefined when its connection is closed without a response. */
  readonly answer: Promise<TrialResponse | undefined>
  readonly #chunks: Buffer[] = []
  #head: Omit<TrialResponse, 'body'> | undefined

  constructor(connection: ClientConnection, head: RequestHead, body: Buffer) {
    super(createDetachedRuntime(), connection, head)
    this.answer = new Promise((resolve) => {
      this.onFinish(({ complete }) =>
        resolve(
          complete && this.#head !== undefined
            ? { ...this.#head, body: Buffer.concat(this.#chunks) }
            : undefined,
        ),
      )
    })
    if (body.length > 0) this.#receive(body)
  }

  /** The request body as the upstream would get it. */
  get requestBody(): Buffer {
    return this.heldBody instanceof HeldBody ? this.heldBody.body : Buffer.alloc(0)
  }

  /** Actions that read the body find it complete. */
  #receive(body: Buffer): void {
    void holdBody(this, MAX_TRIAL_BODY_BYTES)
    this.upstream?.writeBody(body)
    this.upstream?.endBody('')
    this.upstream = undefined
  }

  protected writeHead(status: number, _reason: string, fields: string): void {
    this.#head = { status, headers: [...new HeaderFields(fields)] }
  }

  protected writeBody(chunk: Buffer): void {
    this.#chunks.push(Buffer.from(chunk))
  }

  protected writeUpgrade(_reason: string, fields: string): void {
    this.writeHead(101, '', fields)
  }

  protected get congested(): boolean {
    return false
  }

  protected writeEnd(): void {}
  protected account(bytes: number, source: ByteSource | undefined): void {
    source?.consumed(bytes)
  }
  protected touch(): void {}
  protected resetClient(): void {}
  writeInterim(): void {}
  resumeBody(): void {}
  disableKeepAlive(): void {}
}
