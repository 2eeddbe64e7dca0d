import type { ByteBudget } from '../../base/io/memory/byte-budget.ts'
import type { StreamSink } from '../../base/io/streams/stream.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { ErrorCode, MuxError } from './frame.ts'
import { JsonReader, MAX_MESSAGE_BYTES } from './json-reader.ts'
import type { MuxSession } from './mux-session.ts'
import type { MuxStream } from './mux-stream.ts'
import { ProtocolError } from './protocol-error.ts'
import { typeBytes } from './stream-type.ts'

/** Handles one request and returns the response. A thrown `ProtocolError` becomes the response's `Error`. */
export type CallHandler = (message: Record<string, unknown>) => Promise<object> | object

/** A message that is incomplete after this time is rejected; normally it arrives in one frame. */
export const MESSAGE_TIMEOUT_MS = 30_000

/** Limits of an incomplete message. */
export interface MessageLimits {
  /** Charged for buffered bytes. */
  readonly budget?: ByteBudget | undefined
  readonly timeoutMs?: number | undefined
}

/** The serving end of a call: reads one JSON object, responds with one JSON object and FIN, never with RST. */
export class CallReader implements StreamSink {
  readonly #stream: MuxStream
  readonly #handler: CallHandler
  readonly #onInternalError: (error: unknown) => void
  readonly #reader: JsonReader
  readonly #timer: NodeJS.Timeout
  #finished = false

  constructor(
    stream: MuxStream,
    handler: CallHandler,
    onInternalError: (error: unknown) => void,
    { budget, timeoutMs = MESSAGE_TIMEOUT_MS }: MessageLimits = {},
  ) {
    this.#stream = stream
    this.#handler = handler
    this.#onInternalError = onInternalError
    this.#reader = new JsonReader(MAX_MESSAGE_BYTES, budget)
    this.#timer = setTimeout(
      () => this.#reject(`The message was not complete within ${timeoutMs} ms.`),
      timeoutMs,
    )
    this.#timer.unref()
    stream.urgent = true
  }

  onData(chunk: Buffer): void {
    this.#stream.consumed(chunk.length)
    if (this.#finished) return
    let message: Record<string, unknown>
    try {
      if (!this.#reader.push(chunk)) return
      message = this.#reader.value()
    } catch (error) {
      this.#reject(`The message cannot be read: ${errorMessage(error)}`)
      return
    }
    this.#finish()
    void this.#run(message)
  }

  onEnd(): void {
    // An SDK waits for ever after a bare RST, so even a truncated message gets a response.
    if (!this.#finished) this.#reject('The message ended before it was complete.')
  }

  onDrain(): void {}

  onClose(): void {
    this.#finish()
  }

  async #run(message: Record<string, unknown>): Promise<void> {
    try {
      this.#respond(await this.#handler(message))
    } catch (error) {
      if (!(error instanceof ProtocolError)) this.#onInternalError(error)
      const failure =
        error instanceof ProtocolError ? error : new ProtocolError('Internal server error. Try again.')
      this.#respond({ Error: failure.wireText })
    }
  }

  #reject(reason: string): void {
    this.#respond({ Error: new ProtocolError(reason, 301).wireText })
  }

  /** Stops reading. */
  #finish(): void {
    this.#finished = true
    this.#reader.clear()
    clearTimeout(this.#timer)
  }

  #respond(response: object): void {
    this.#finish()
    if (this.#stream.closed) return
    this.#stream.write(Buffer.from(JSON.stringify(response)))
    this.#stream.end()
  }
}

/** The calling end: resolves with the peer's JSON object; rejects on timeout, an empty response or the session's end. */
export function call(
  session: MuxSession,
  type: number,
  message: object,
  timeoutMs: number,
): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const json = Buffer.from(JSON.stringify(message))
    const stream = session.open(Buffer.concat([typeBytes(type), json]))
    stream.urgent = true
    const timer = setTimeout(() => {
      const error = new MuxError(ErrorCode.StreamCancelled, `The peer did not answer within ${timeoutMs} ms.`)
      reject(error)
      stream.reset(error)
    }, timeoutMs)
    const reader = new JsonReader()
    let settled = false

    function settle(finish: () => void): void {
      if (settled) return
      settled = true
      clearTimeout(timer)
      reader.clear()
      finish()
      stream.end()
    }

    stream.sink = {
      onData(chunk) {
        stream.consumed(chunk.length)
        if (settled) return
        try {
          if (!reader.push(chunk)) return
          const value = reader.value()
          settle(() => resolve(value))
        } catch (error) {
          settle(() => reject(new ProtocolError(`The response cannot be read: ${errorMessage(error)}`)))
        }
      },
      onEnd() {
        settle(() => reject(new ProtocolError('The peer ended the call without a response.')))
      },
      onDrain() {},
      onClose(error) {
        settle(() => reject(error ?? new ProtocolError('The peer closed the call without a response.')))
      },
    }
  })
}
