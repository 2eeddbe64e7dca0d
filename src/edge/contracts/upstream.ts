import type { ByteSource } from '../../base/io/streams/coalescing-writer.ts'

/** Methods whose requests may be resent when it is unknown whether the first one arrived (P31). */
export const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'OPTIONS',
  'PUT',
  'DELETE',
  'TRACE',
])

/** The upstream side of one exchange. */
export interface Upstream extends ByteSource {
  /** True when the connection has served another request before. */
  readonly reused: boolean
  /** True when `writeBody` keeps the chunk after it has returned; otherwise the caller may free its memory. */
  readonly retainsChunks: boolean
  /** Forwards a chunk of the request body. False means: pause until `Exchange.resumeBody`. */
  writeBody(chunk: Buffer): boolean
  /** Ends the request body. */
  endBody(trailers: string): void
  /** Abandons the exchange; its response is no longer needed. */
  abort(): void
}
