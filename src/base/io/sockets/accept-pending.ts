import type { Server } from 'node:net'
import { setImmediate } from 'node:timers/promises'

/** Clients may connect as fast as they are accepted. */
const MAX_WAIT_MS = 1000
/** The share that the last turn has of the time: a busy loop, whose turns are long, waits longer for a short one. */
const MAX_LAST_TURN = 0.01

/**
 * Resolves when no connection waits to be accepted, right before the listeners are closed: the kernel resets those that
 * still wait then. The event loop accepts one connection of a listener in each turn, so a turn without one has found none;
 * and the shorter it was, the less likely is one that arrived after the loop had looked.
 */
export async function acceptPending(servers: readonly Server[]): Promise<void> {
  if (!servers.some(({ listening }) => listening)) return
  let accepted = 0
  const count = () => {
    accepted++
  }
  for (const server of servers) server.on('connection', count).on('drop', count)
  const startedAt = performance.now()
  // It may run in the middle of a turn.
  await setImmediate()
  let before: number
  let turnStartedAt: number
  let now = performance.now()
  do {
    before = accepted
    turnStartedAt = now
    await setImmediate()
    now = performance.now()
  } while (
    now - startedAt < MAX_WAIT_MS &&
    (accepted > before || now - turnStartedAt > (now - startedAt) * MAX_LAST_TURN)
  )
  for (const server of servers) server.off('connection', count).off('drop', count)
}

/** Closes a listener that no connection waits for any more. Resolves before the connections that are open have closed. */
export async function stopListening(server: Server): Promise<void> {
  await acceptPending([server])
  if (server.listening) server.close()
}
