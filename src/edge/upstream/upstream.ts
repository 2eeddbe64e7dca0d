import type { Source } from '../../base/io/coalescing-writer.ts'

/** The upstream side of one exchange. */
export interface Upstream extends Source {
  /** True when the connection has served another request before. */
  readonly reused: boolean
  /** Forwards a chunk of the request body. False means: pause until `Exchange.resumeBody`. */
  body(chunk: Buffer): boolean
  /** Ends the request body. */
  end(trailers: string): void
  /** Abandons the exchange; its response is no longer needed. */
  abort(): void
}
