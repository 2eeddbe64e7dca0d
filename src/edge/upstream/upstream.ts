import type { Source } from '../../base/io/coalescing-writer.ts'

/** The far side of one exchange: where the request goes and what can be done about it. */
export interface Upstream extends Source {
  /** True when the connection had served another request before. */
  readonly reused: boolean
  /** Passes on a piece of the request body. False means: stop until `Exchange.resumeBody`. */
  body(chunk: Buffer): boolean
  /** The request body is complete. */
  end(trailers: string): void
  /** The exchange was given up: nobody waits for the response. */
  abort(): void
}
