import type { HolderCount } from '../../base/io/sockets/concurrency-limiter.ts'
import type { CountUpdate, RateLease, RateLeaseRequest, Revocation } from '../../edge/index.ts'
import type { RequestLogUpdate } from '../../sessions/index.ts'
import type { Commit } from '../../store/index.ts'

/** Something that processes tell or ask each other: a value, and the answer to a question. */
interface Topic<Value, Answer = void> {
  /**
   * Who receives it. `control`: the control process of the server. `workers`: the other workers of the server, through the
   * control process. `peers`: all linked processes, also of other nodes and of the previous release (`src/cluster`).
   */
  readonly to: 'control' | 'workers' | 'peers'
  /**
   * What happens when a receiver is not there or does not keep up. `dropped`: it does without. `told again`: it gets all that
   * holds once it keeps up. `stored`: it reads it from the database. `unanswered`: who asks decides alone.
   */
  readonly lost: 'dropped' | 'told again' | 'stored' | 'unanswered'
  /** For the compiler alone. */
  readonly types?: (value: Value) => Answer
}

/**
 * Everything that the processes of a server tell each other, and processes of other nodes beside what they serve: that is in
 * `src/cluster/wire.ts`. What the control process does to its workers is in `worker-messages.ts`.
 */
export const TOPICS = {
  /** From the process that commits; the control process has all others apply it (decision 219). */
  commit: { to: 'control', lost: 'stored' } as Topic<Commit>,
  /** From a worker before it admits requests under a rate limit (decision 266). */
  rateLease: { to: 'control', lost: 'unanswered' } as Topic<RateLeaseRequest, RateLease>,
  /** From a worker that has started, perhaps in place of one that crashed, or has missed something: it knows nothing of the others. */
  joined: { to: 'workers', lost: 'told again' } as Topic<true>,
  /** From a gateway: the connections of holders whose number has changed, ten times a second. */
  holders: { to: 'workers', lost: 'told again' } as Topic<{ limit: string; counts: readonly HolderCount[] }>,
  /** From a gateway at which an agent or SSH client has failed to log in. */
  loginFailed: { to: 'workers', lost: 'dropped' } as Topic<{ gateway: 'agent' | 'ssh'; ip: string }>,
  /**
   * From the worker of an SSH client that watches the requests of its tunnel, or does so no longer; and from one that has served
   * such a request, which is not told again.
   */
  requestLog: { to: 'workers', lost: 'told again' } as Topic<RequestLogUpdate>,
  /** From an edge: what rate limits, circuit breakers and lists of failed sign-ins have counted there (decision 240). */
  counts: { to: 'peers', lost: 'dropped' } as Topic<readonly CountUpdate[]>,
  /** From the process at which sessions of visitors were revoked; it waits until all others have applied it (decision 253). */
  revocation: { to: 'peers', lost: 'stored' } as Topic<readonly Revocation[]>,
}

export type TopicName = keyof typeof TOPICS

/** What is told or asked under a topic. */
export type TopicValue<T extends TopicName> = Parameters<NonNullable<(typeof TOPICS)[T]['types']>>[0]

/** The answer to a question. */
export type TopicAnswer<T extends TopicName> = ReturnType<NonNullable<(typeof TOPICS)[T]['types']>>
