import type { Outbound } from '../base/outbound/outbound.ts'
import type { Clock } from '../base/values/clock.ts'
import type { EventDestination, StoredRecord } from '../resources/index.ts'

/** One event for one destination; every attempt sends the same bytes. */
export interface OutboundEvent {
  /** The id of the event, the same in every attempt: receivers use it to deduplicate. */
  readonly id: string
  readonly type: string
  /** The time of the event, in milliseconds since 1970. */
  readonly time: number
  /** The event as JSON, without a newline. */
  readonly body: string
  /** The body as a JSON string, where that is cheaper than encoding the body. */
  readonly quoted?: string
  /** For a body that is serialized on demand: the characters that it and its captured values take. */
  readonly size?: number
}

/** The outcome of one event. */
export type DeliveryOutcome =
  | { readonly delivered: true }
  | {
      readonly delivered: false
      /** Returned to the owner of the destination. */
      readonly error: string
      /** The delay that the receiver requested. */
      readonly retryAfterMs?: number | undefined
      /** No further attempt can succeed. */
      readonly final?: boolean
      /** The receiver answered 410 Gone. */
      readonly gone?: boolean
    }

export const delivered: DeliveryOutcome = { delivered: true }

/** A delivery that failed for the same reason for every event of the batch. */
export class DeliveryFailed extends Error {
  override name = 'DeliveryFailed'
  readonly retryAfterMs: number | undefined

  constructor(message: string, options: { retryAfterMs?: number | undefined; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.retryAfterMs = options.retryAfterMs
  }
}

/** The outcome of events whose delivery threw. */
export function toFailure(error: unknown): DeliveryOutcome {
  const { name, message, retryAfterMs } = error as DeliveryFailed
  const timedOut = /^(Timeout|Abort)Error$/.test(name)
  return { delivered: false, error: timedOut ? 'There was no answer in time.' : message, retryAfterMs }
}

/** The size of one batch, and how long to wait for it to fill. */
export interface BatchLimits {
  readonly maxEvents: number
  readonly maxBytes: number
  /** Maximum size of one event; a larger one is not sent, so that it cannot block the rest. */
  readonly maxEventBytes: number
  readonly lingerMs: number
}

/** A sink of one kind. Every target satisfies `target.contract.test.ts`. */
export interface DeliveryTarget {
  readonly limits: BatchLimits
  /** Makes one attempt. Returns the outcome of each event in order, or throws when all failed for the same reason. */
  deliver(batch: readonly OutboundEvent[], signal: AbortSignal): Promise<readonly DeliveryOutcome[]>
}

/** Endpoints that replace those of the providers: for local emulators and compatible services. */
export interface TargetEndpoints {
  readonly firehose?: string | undefined
  readonly kinesis?: string | undefined
  readonly cloudwatch_logs?: string | undefined
  readonly s3?: string | undefined
  readonly sts?: string | undefined
  readonly monitoring?: string | undefined
  readonly azure_login?: string | undefined
}

/** The AWS identity that assumes the roles of destinations. */
export interface CloudIdentity {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** What a target factory gets. */
export interface TargetContext {
  readonly accountId: string
  readonly destinationId: string
  readonly outbound: Pick<Outbound, 'fetch'>
  readonly clock: Clock
  readonly endpoints: TargetEndpoints
  /** Timeout of one request. */
  readonly attemptMs: number
  /** When undefined, the SDK searches the environment, profile and instance. */
  readonly cloudIdentity?: CloudIdentity | undefined
}

export type TargetSettings = StoredRecord<typeof EventDestination>['target']
export type TargetKind = keyof TargetSettings
export type SettingsOf<K extends TargetKind> = NonNullable<TargetSettings[K]>

/** Aborts after the timeout of one request, or earlier with the whole delivery. */
export function attemptSignal(signal: AbortSignal, { attemptMs }: TargetContext): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(attemptMs)])
}

/** Creates a target from the settings of a destination. */
export type TargetFactory<K extends TargetKind> = (
  settings: SettingsOf<K>,
  context: TargetContext,
) => DeliveryTarget
