import type { CapturedFrame } from '../inspector/frame-log.ts'
import type { CapturedAction } from '../inspector/policy-actions.ts'
import type { MeterSnapshot } from '../metrics.ts'

/** One side of a captured exchange; summaries omit `raw` (base64). */
export interface CapturedMessage {
  readonly proto: string
  readonly headers: Readonly<Record<string, readonly string[]>>
  readonly raw?: string
  readonly body_size: number
  readonly truncated: boolean
  readonly redacted?: boolean
}

/** The JSON of a captured request (docs/local-api.md). */
export interface CaptureView {
  readonly uri: string
  readonly id: string
  readonly tunnel_name: string
  readonly remote_addr: string
  readonly start: string
  /** Nanoseconds. */
  readonly duration: number
  readonly request: CapturedMessage & { readonly method: string; readonly uri: string }
  readonly response: (CapturedMessage & { readonly status: string; readonly status_code: number }) | null
  readonly replayable: boolean
  readonly in_flight: boolean
  readonly pinned: boolean
  /** Absent until the response has begun. */
  readonly timing?: CaptureTiming
  readonly frames?: FramesSummary
  /** What the server's traffic policies did with the request, in order; absent without any. */
  readonly policy?: readonly CapturedAction[]
  readonly error?: string
}

/** Where the time of an exchange went, in nanoseconds. */
export interface CaptureTiming {
  /** Until the agent had received the whole request, or the response began. */
  readonly request: number
  /** From then until the upstream began to respond. */
  readonly wait: number
  /** Until the response was complete. */
  readonly response: number
}

/** The number and state of the WebSocket messages or events of an exchange. */
export interface FramesSummary {
  readonly uri: string
  readonly total: number
  readonly dropped: number
  readonly open: boolean
  readonly stopped?: string
}

/** One WebSocket message or server-sent event; the payload is text if it is textual, base64 otherwise. */
export interface FrameView
  extends Pick<
    CapturedFrame,
    | 'index'
    | 'from'
    | 'kind'
    | 'opcode'
    | 'fragments'
    | 'event'
    | 'size'
    | 'truncated'
    | 'compressed'
    | 'decoded'
  > {
  readonly time: string
  readonly id?: string
  readonly text?: string
  readonly base64?: string
  readonly close_code?: number
}

/** A running tunnel. `ID` is what other clients of the local API expect. */
export interface TunnelView {
  readonly ID: string
  readonly name: string
  readonly uri: string
  readonly public_url: string
  readonly proto: string
  readonly config: { readonly addr: string; readonly inspect: boolean }
  readonly metrics: TunnelMetrics
}

/** Connections and requests of a tunnel: counts, rates and durations. */
export interface TunnelMetrics {
  readonly conns: MeterSnapshot & { readonly gauge: number }
  readonly http: MeterSnapshot
}

/** The connection and the version of the agent. */
export interface AgentStatus {
  readonly uri: string
  readonly status: string
  readonly agent_version: string
  readonly session: {
    readonly id: string
    readonly account: string
    readonly legs: readonly {
      readonly region: string
      readonly latency: string
      /** Where the server is reached. */
      readonly address: string
      /** Open streams of visitors. */
      readonly streams: number
    }[]
  }
  readonly inspect_db_size: number
  readonly update_available?: string
}

/** A body without its content encodings. */
export interface DecodedBodyView {
  readonly uri: string
  readonly side: 'request' | 'response'
  readonly decoded: readonly string[]
  readonly problem?: string
  readonly base64: string
}

/** Changes to a replayed request, as pages send them. The API also accepts a map of headers and a body in base64. */
export interface ReplayChanges {
  method?: string
  path?: string
  headers?: readonly (readonly [name: string, value: string])[]
  body?: string
}
