import type { StreamSink } from '../base/stream.ts'
import { ErrorCode, MuxError } from './frame.ts'
import { JsonReader } from './json-reader.ts'
import type { MuxSession } from './mux-session.ts'
import type { MuxStream } from './mux-stream.ts'
import { Refusal } from './refusal.ts'
import { typeBytes } from './stream-type.ts'

/** Answers one request: gets the message, gives the response. A thrown `Refusal` becomes the response's `Error`. */
export type Answer = (message: Record<string, unknown>) => Promise<object> | object

/** The serving end of a call: collects one JSON object, answers with one JSON object and FIN, never with RST. */
export class CallReader implements StreamSink {
  readonly #stream: MuxStream
  readonly #answer: Answer
  readonly #onBug: (error: unknown) => void
  readonly #reader = new JsonReader()
  #done = false

  constructor(stream: MuxStream, answer: Answer, onBug: (error: unknown) => void) {
    this.#stream = stream
    this.#answer = answer
    this.#onBug = onBug
    stream.urgent = true
  }

  onData(chunk: Buffer): void {
    this.#stream.consumed(chunk.length)
    if (this.#done) return
    let message: Record<string, unknown>
    try {
      if (!this.#reader.push(chunk)) return
      message = this.#reader.value()
    } catch (error) {
      this.#respond({
        Error: new Refusal(`The message cannot be read: ${(error as Error).message}`, 301).text,
      })
      return
    }
    this.#done = true
    void this.#run(message)
  }

  onEnd(): void {
    // An SDK waits for ever on a call that is only reset, so even half a message gets its answer.
    if (!this.#done)
      this.#respond({ Error: new Refusal('The message ended before it was complete.', 301).text })
  }

  onDrain(): void {}

  onClose(): void {
    this.#done = true
  }

  async #run(message: Record<string, unknown>): Promise<void> {
    try {
      this.#respond(await this.#answer(message))
    } catch (error) {
      if (!(error instanceof Refusal)) this.#onBug(error)
      const refusal = error instanceof Refusal ? error : new Refusal('The server made a mistake. Try again.')
      this.#respond({ Error: refusal.text })
    }
  }

  #respond(response: object): void {
    this.#done = true
    if (this.#stream.closed) return
    this.#stream.write(Buffer.from(JSON.stringify(response)))
    this.#stream.end()
  }
}

/** The calling end: resolves with the peer's JSON object. Rejects when it is late, empty or the session ends. */
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
    const late = setTimeout(() => {
      const error = new MuxError(ErrorCode.StreamCancelled, `The peer did not answer within ${timeoutMs} ms.`)
      reject(error)
      stream.reset(error)
    }, timeoutMs)
    const reader = new JsonReader()
    let done = false

    function settle(finish: () => void): void {
      if (done) return
      done = true
      clearTimeout(late)
      finish()
      stream.end()
    }

    stream.sink = {
      onData(chunk) {
        stream.consumed(chunk.length)
        if (done) return
        try {
          if (!reader.push(chunk)) return
          const value = reader.value()
          settle(() => resolve(value))
        } catch (error) {
          settle(() => reject(new Refusal(`The answer cannot be read: ${(error as Error).message}`)))
        }
      },
      onEnd() {
        settle(() => reject(new Refusal('The peer ended the call without an answer.')))
      },
      onDrain() {},
      onClose(error) {
        settle(() => reject(error ?? new Refusal('The peer closed the call without an answer.')))
      },
    }
  })
}
