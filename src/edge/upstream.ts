import type { ByteSource } from '../base/io/coalescing-writer.ts'

/** The upstream side of one exchange. */
export interface Upstream extends ByteSource {
  /** True when the connection has served another request before. */
  readonly reused: boolean
  /** Forwards a chunk of the request body. False means: pause until `Exchange.resumeBody`. */
  writeBody(chunk: Buffer): boolean
  /** Ends the request body. */
  endBody(trailers: string): void
  /** Abandons the exchange; its response is no longer needed. */
  abort(): void
}
