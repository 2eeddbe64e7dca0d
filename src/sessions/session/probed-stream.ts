import { DeferredStream } from '../../base/io/streams/deferred-stream.ts'
import type { ByteStream } from '../../base/io/streams/stream.ts'
import { ErrorCode, MuxError } from '../../protocol/index.ts'

/** A stream that is opened once an answer has come, or will not come in time. */
export class ProbedStream extends DeferredStream {
  readonly #timer: NodeJS.Timeout

  /** `open` is told whether the answer has come; it may throw. */
  constructor(answer: Promise<boolean>, timeoutMs: number, open: (answered: boolean) => ByteStream) {
    super(false)
    let isOpen = false
    const openOnce = (answered: boolean) => {
      clearTimeout(this.#timer)
      if (isOpen || this.closed) return
      isOpen = true
      try {
        this.attach(open(answered))
      } catch (error) {
        this.fail(error as Error)
      }
    }
    this.#timer = setTimeout(openOnce, timeoutMs, false)
    void answer.then(openOnce)
  }

  protected override reopen(): boolean {
    return false
  }

  protected override cancel(error: Error | undefined): void {
    clearTimeout(this.#timer)
    this.fail(error ?? new MuxError(ErrorCode.StreamCancelled, 'The stream was reset before it was opened.'))
  }
}
