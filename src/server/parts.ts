import { setTimeout as delay } from 'node:timers/promises'
import { CleanupStack } from '../base/process/cleanup-stack.ts'
import { collectWhenIdle } from '../base/process/collect-when-idle.ts'
import { createDirectory } from '../base/process/create-directory.ts'
import { createLog } from '../base/process/log.ts'
import { Bus } from './bus/bus.ts'
import { startInOrder } from './process/lifecycle.ts'
import type { ServerLimits } from './settings/server-limits.ts'
import type { ServerSettings } from './settings/settings.ts'
import { wireBackground } from './wiring/background.ts'
import { type LogOf, openFoundation, type ProcessContext } from './wiring/foundation.ts'
import { wireMonitoring } from './wiring/monitoring.ts'
import { createReadiness } from './wiring/readiness.ts'
import { type Parts, startOrder } from './wiring/start-order.ts'
import { wireTraffic } from './wiring/traffic.ts'

/** How long a failed start waits for the components it had started. */
const CLEANUP_TIMEOUT_MS = 5_000

/**
 * Creates the parts of a process, phase by phase: each phase gets what the phases before it created. Then starts them in
 * order. A failed start stops everything it had started before it throws.
 */
export async function startParts(
  settings: ServerSettings,
  limits: ServerLimits,
  { worker, predecessor, early, bus = new Bus() }: Partial<Omit<ProcessContext, 'cleanup' | 'logOf'>> = {},
): Promise<{ parts: Parts; stop(): Promise<void> }> {
  const processLog = createLog(settings.logLevel)
  const logOf: LogOf = (part) =>
    processLog.child({ part, ...(worker !== undefined && { worker: worker.number }) })
  const cleanup = new CleanupStack()
  let serving = false
  // A worker needs neither the API nor the dashboard: a third of the code that a server loads.
  const loadControl = worker === undefined ? import('./wiring/control.ts') : undefined
  createDirectory(settings.dataDir, 0o700)
  try {
    const context = { cleanup, logOf, bus, worker, predecessor, early }
    const foundation = await openFoundation(settings, limits, context)
    const background = await wireBackground(foundation)
    const readiness = createReadiness(foundation, () => serving)
    const traffic = await wireTraffic(foundation, background, readiness)
    const monitoring = wireMonitoring(foundation, background, traffic, readiness)
    const control = (await loadControl)?.wireControl(foundation, background, traffic, readiness)
    const parts = { foundation, background, traffic, monitoring, control }
    await startInOrder(cleanup, startOrder(parts))
    cleanup.defer(collectWhenIdle())
    serving = true
    return {
      parts,
      stop() {
        serving = false
        return cleanup.run()
      },
    }
  } catch (error) {
    await stopAfterFailure(() => cleanup.run(), logOf)
    throw error
  }
}

/** Stops what a failed start had started. The caller reports why the start failed, not the errors of this. */
export async function stopAfterFailure(stop: () => Promise<void>, logOf: LogOf): Promise<void> {
  await Promise.race([stop(), delay(CLEANUP_TIMEOUT_MS, undefined, { ref: false })]).catch((err: unknown) =>
    logOf('server').error({ err }, 'cleanup after a failed start failed'),
  )
}
