/** What a stream tells whoever holds its receiving end. Four plain methods instead of events: no allocation per piece. */
export interface StreamSink {
  /**
   * A piece arrived. Its memory is lent for this call and reused afterwards: whoever keeps it copies it. It counts
   * against the stream's window until `consumed` is called for its bytes.
   */
  onData(chunk: Buffer): void
  /** The peer will send nothing more; our own direction stays open. */
  onEnd(): void
  /** Writing may go on after `write` returned false. */
  onDrain(): void
  /** Both directions are over, with an error when the end was not clean. Called exactly once, as the last call. */
  onClose(error?: Error): void
}

/**
 * A two-way byte stream with half-close and credit for what was consumed: what a tunnel opens, whether an agent's
 * muxed stream or a channel of an SSH client stands behind it.
 */
export interface ByteStream {
  sink: StreamSink
  /** Sends a piece; the caller may reuse its memory at once. False means: stop until `onDrain`. */
  write(chunk: Buffer): boolean
  /** Half-closes our direction once everything written has been sent. */
  end(): void
  /** Ends both directions at once and drops what was not sent. The sink still gets `onClose`. */
  reset(error?: Error): void
  /** Says that these bytes have left our memory, so that the peer may send as many again. */
  consumed(bytes: number): void
}

/** A sink for streams nobody reads yet or any more. */
export const silentSink: StreamSink = {
  onData() {},
  onEnd() {},
  onDrain() {},
  onClose() {},
}
