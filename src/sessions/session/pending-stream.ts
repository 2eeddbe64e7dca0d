import { DeferredStream } from '../../base/io/streams/deferred-stream.ts'
import { ErrorCode, MuxError, type ProxyHeader } from '../../protocol/index.ts'

/** Retries after RST "accept queue full" before the client gets the error. */
const MAX_RETRIES = 10

/** The session that a pending stream opens on. */
export interface StreamOpener {
  /** Opens the stream again later; called when the agent rejected it for lack of room. */
  retry(stream: PendingStream): void
  /** The stream was reset while queued. */
  cancel(stream: PendingStream): void
}

/** A stream that is not open yet, or may have to be reopened because the agent rejects it before it acknowledges it. */
export class PendingStream extends DeferredStream {
  readonly header: ProxyHeader
  /** Bytes before the client's, such as a PROXY header. */
  readonly preamble: Buffer | undefined
  /** Called when the inner stream closed, even when another one replaces it. */
  onInnerClose: (() => void) | undefined
  readonly #opener: StreamOpener
  #retries = 0

  constructor(
    opener: StreamOpener,
    bufferUntilAcknowledged: boolean,
    header: ProxyHeader,
    preamble: Buffer | undefined,
  ) {
    super(bufferUntilAcknowledged)
    this.#opener = opener
    this.header = header
    this.preamble = preamble
  }

  override onClose(error?: Error): void {
    this.onInnerClose?.()
    super.onClose(error)
  }

  protected override reopen(error: Error | undefined): boolean {
    const rejected = error instanceof MuxError && error.code === ErrorCode.AcceptQueueFull
    if (!rejected || this.#retries++ >= MAX_RETRIES) return false
    this.#opener.retry(this)
    return true
  }

  protected override cancel(error: Error | undefined): void {
    this.#opener.cancel(this)
    this.fail(error ?? new MuxError(ErrorCode.StreamCancelled, 'The stream was reset before it was opened.'))
  }
}
