/** The receiving end of a stream. Four plain methods instead of events: no allocation per chunk. */
export interface StreamSink {
  /**
   * A chunk arrived. Its memory is valid during this call only; copy it to keep it (decision 96). It counts against the
   * stream's window until `consumed` is called for its bytes.
   */
  onData(chunk: Buffer): void
  /** The peer will send nothing more; our own direction stays open. */
  onEnd(): void
  /** Writing may go on after `write` returned false. */
  onDrain(): void
  /** Both directions are closed, with an error unless they ended cleanly. Called exactly once, as the last call. */
  onClose(error?: Error): void
}

/**
 * A bidirectional byte stream with half-close and credit-based flow control. Tunnels open such streams: an agent's muxed
 * stream or a channel of an SSH client.
 */
export interface ByteStream {
  sink: StreamSink
  /** Sends a chunk; the caller may reuse its memory at once. False means: stop until `onDrain`. */
  write(chunk: Buffer): boolean
  /** Half-closes our direction once everything written has been sent. */
  end(): void
  /** Closes both directions at once and drops what was not sent. The sink still gets `onClose`. */
  reset(error?: Error): void
  /** Credits the peer with these bytes: they have left our memory, so it may send as many again. */
  consumed(bytes: number): void
  /** Whether the peer reads notes: facts about the stream that are sent beside its bytes. */
  readonly takesNotes?: boolean
  /** Sends a note, at once and without flow control; it may be lost. */
  sendNote?(payload: Buffer): void
  /** Called with each note of the peer; its memory is valid during the call only. */
  onNote?: ((payload: Buffer) => void) | undefined
}

/** A sink that discards everything, for streams without a reader. */
export const silentSink: StreamSink = {
  onData() {},
  onEnd() {},
  onDrain() {},
  onClose() {},
}
