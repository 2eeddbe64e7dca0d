import type { Clock } from '../../base/clock.ts'
import type { Outbound } from '../../base/outbound/outbound.ts'
import type { EventDestination, Stock } from '../../resources/index.ts'

/** One event on its way to one destination; every attempt sends the same bytes. */
export interface OutboundEvent {
  /** The event's id, the same at every attempt: receivers recognise repetitions by it. */
  readonly id: string
  readonly type: string
  /** When it happened, in milliseconds since 1970. */
  readonly at: number
  /** The event as JSON, without a line end. */
  readonly body: string
  /** The body as a JSON string, where writing that is cheaper than making it from the body. */
  readonly quoted?: string
  /** For a body that is written when asked for: what it and all that is kept for it take, in characters. */
  readonly size?: number
}

/** What became of one parcel. */
export type DeliveryOutcome =
  | { readonly delivered: true }
  | {
      readonly delivered: false
      /** Shown to the owner of the destination. */
      readonly error: string
      /** How long the receiver asked to be left alone. */
      readonly retryAfterMs?: number | undefined
      /** No further attempt can succeed. */
      readonly final?: boolean
      /** The receiver wants nothing more at all. */
      readonly gone?: boolean
    }

export const delivered: DeliveryOutcome = { delivered: true }

/** A delivery that failed for one reason that every parcel of the batch shares. */
export class DeliveryFailed extends Error {
  override name = 'DeliveryFailed'
  readonly retryAfterMs: number | undefined

  constructor(message: string, options: { retryAfterMs?: number | undefined; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.retryAfterMs = options.retryAfterMs
  }
}

/** The outcome of parcels whose delivery threw. */
export function toFailure(error: unknown): DeliveryOutcome {
  const { name, message, retryAfterMs } = error as DeliveryFailed
  const timedOut = /^(Timeout|Abort)Error$/.test(name)
  return { delivered: false, error: timedOut ? 'There was no answer in time.' : message, retryAfterMs }
}

/** How much goes into one batch, and how long to wait for it to fill. */
export interface BatchLimits {
  readonly maxEvents: number
  readonly maxBytes: number
  /** What the service takes of one event; a larger one is not sent, so that it cannot hold up the rest. */
  readonly maxEventBytes: number
  readonly lingerMs: number
}

/** A sink of one kind. Every target fulfils `target.contract.test.ts`. */
export interface DeliveryTarget {
  readonly limits: BatchLimits
  /** One attempt. Answers for each parcel in order, or throws when all of them failed for one reason. */
  deliver(batch: readonly OutboundEvent[], signal: AbortSignal): Promise<readonly DeliveryOutcome[]>
}

/** Addresses to use instead of the providers' own: for their local stand-ins and compatible services. */
export interface TargetEndpoints {
  readonly firehose?: string | undefined
  readonly kinesis?: string | undefined
  readonly cloudwatch_logs?: string | undefined
  readonly s3?: string | undefined
  readonly sts?: string | undefined
  readonly monitoring?: string | undefined
}

/** The cloud identity that assumes the roles of destinations. */
export interface CloudIdentity {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** What targets are made with. */
export interface TargetContext {
  readonly accountId: string
  readonly destinationId: string
  readonly outbound: Pick<Outbound, 'fetch'>
  readonly clock: Clock
  readonly endpoints: TargetEndpoints
  /** How long one request may take. */
  readonly attemptMs: number
  /** The SDK's own search (environment, profile, instance) when not given. */
  readonly cloudIdentity?: CloudIdentity | undefined
}

export type TargetSettings = Stock<typeof EventDestination>['target']
export type TargetKind = keyof TargetSettings
export type SettingsOf<K extends TargetKind> = NonNullable<TargetSettings[K]>

/** Ends with the time of one request, or earlier with the whole delivery. */
export function attemptSignal(signal: AbortSignal, { attemptMs }: TargetContext): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(attemptMs)])
}

/** Makes a target from what a destination says of it. */
export type TargetFactory<K extends TargetKind> = (
  settings: SettingsOf<K>,
  context: TargetContext,
) => DeliveryTarget
