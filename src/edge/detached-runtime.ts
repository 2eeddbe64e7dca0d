import { ByteBudgets } from '../base/io/memory/byte-budget.ts'
import { TimerWheel } from '../base/io/memory/timer-wheel.ts'
import { WindowBudget } from '../base/io/memory/window-budget.ts'
import { FlushScheduler } from '../base/io/streams/flush-scheduler.ts'
import { silentLog } from '../base/process/log.ts'
import { systemClock } from '../base/values/clock.ts'
import { HELD_BODY_LIMITS } from './contracts/held-body.ts'
import { defaultLimits, toTickLimits } from './contracts/limits.ts'
import { type EdgeRuntime, NO_CLUSTER_SERVICES } from './contracts/runtime.ts'
import { EMPTY_TABLE } from './contracts/table.ts'
import { LOCAL_REPLY_LIMITS } from './response/local-reply.ts'
import { Traffic } from './stats/traffic.ts'

/** The state of an edge without listeners, for trials of policies and for tests. Its timers never start. */
export function createDetachedRuntime(): EdgeRuntime {
  const timers = new TimerWheel(systemClock)
  return {
    flushScheduler: new FlushScheduler(),
    timers,
    clock: systemClock,
    log: silentLog,
    limits: toTickLimits(defaultLimits, timers),
    connections: new Set(),
    idleUpstreams: new Set(),
    trustedProxies: undefined,
    observer: undefined,
    traffic: new Traffic(),
    heldBodyBudgets: new ByteBudgets(HELD_BODY_LIMITS),
    localReplyBudgets: new ByteBudgets(LOCAL_REPLY_LIMITS),
    windows: new WindowBudget(),
    acmeChallenge: undefined,
    readiness: undefined,
    errorPagesUrl: () => undefined,
    findErrorPage: () => undefined,
    clusterServices: NO_CLUSTER_SERVICES,
    publicHttpsPort: 443,
    publicHttpPort: 80,
    table: EMPTY_TABLE,
    draining: false,
  }
}
