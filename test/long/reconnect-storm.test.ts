import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { scaleForLoad, startHarness } from '../support/harness.ts'
import { startLightAgents } from '../support/light-agents.ts'

const AGENTS = Number(process.env.LONG_AGENTS ?? 1000)
const PROCESSES = 4
const ROUNDS = 3
/** The promise itself (P13): a longer recovery is a failure, scaled by the load of the machine. */
const RECOVERY_MS = 15_000

test(`${AGENTS} agents that lose their server at once are back within ${RECOVERY_MS / 1000} s of its return (P13)`, async (t) => {
  const harness = await startHarness(t)
  const groups = Array.from({ length: PROCESSES }, () =>
    startLightAgents(t, harness.credentials, AGENTS / PROCESSES),
  )
  const online = () => groups.reduce((sum, agents) => sum + agents.online, 0)
  await eventually(async () => online() === AGENTS, 'all agents are online', 300_000)

  for (let round = 1; round <= ROUNDS; round++) {
    const exited = once(harness.server.child, 'exit')
    harness.server.child.kill('SIGKILL')
    await exited
    await eventually(async () => online() === 0, 'all agents have noticed', 60_000)
    await harness.restart()
    const restartedAt = performance.now()
    await eventually(async () => online() === AGENTS, 'all agents are back', scaleForLoad(RECOVERY_MS))
    t.diagnostic(`round ${round}: all back after ${Math.round(performance.now() - restartedAt)} ms`)
  }

  const sessions = await fetch(`${harness.credentials.api_url}/tunnel_sessions?limit=100`, {
    headers: { authorization: `Bearer ${harness.credentials.api_key}` },
  })
  assert.equal(sessions.status, 200)
})
