import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { AgentProcess } from '../support/agent-process.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, readText, startHarness } from '../support/harness.ts'
import { startHttp } from '../support/local-server.ts'
import { type Relay, startRelay } from '../support/relay.ts'
import { signalServer } from '../support/worker-processes.ts'

const NAME = 'steady.adit.localhost'

/** A running tunnel whose agent connects through a relay, with the shortest heartbeats allowed. */
interface TunnelFixture {
  readonly harness: Harness
  readonly relay: Relay
  agent: AgentProcess
  startAgent(): AgentProcess
}

async function startFixture(t: TestContext): Promise<TunnelFixture> {
  const [harness, port] = await Promise.all([
    startHarness(t),
    startHttp(t, (_request, response) => response.end('served')),
  ])
  const relay = await startRelay(t, harness.agentPort)
  const startAgent = () =>
    harness.startAgent(['http', String(port), `--url=http://${NAME}`], {
      // With several legs a session may outlive the loss of each, one after the other.
      ADIT_LEGS: '1',
      ADIT_CONNECT_URL: `127.0.0.1:${relay.port}`,
      ADIT_CONNECT_CAS: harness.credentials.ca_file,
      ADIT_AUTHTOKEN: harness.credentials.authtoken,
      ADIT_HEARTBEAT_INTERVAL: '1s',
      ADIT_HEARTBEAT_TOLERANCE: '1s',
      ADIT_CONNECT_TIMEOUT: '500ms',
    })
  const fixture = { harness, relay, startAgent, agent: startAgent() }
  await fixture.agent.until(({ stdout }) => stdout.includes('Forwarding'))
  await eventually(() => isServing(fixture), 'the tunnel serves')
  return fixture
}

async function isServing({ harness }: TunnelFixture): Promise<boolean> {
  const response = await harness.get(NAME)
  return (await readText(response)) === 'served'
}

const hasNoSession = async ({ harness }: TunnelFixture) =>
  (await harness.list('/tunnel_sessions')).length === 0

interface Interruption {
  /** Fewer where the server has to detect the failure itself, which takes longer. */
  readonly rounds: number
  interrupt(fixture: TunnelFixture): Promise<void>
  recover(fixture: TunnelFixture): Promise<void>
}

/** The ways a link is interrupted and recovers. */
const interruptions: Record<string, Interruption> = {
  'a blackholed link': {
    rounds: 1,
    async interrupt(fixture) {
      const reconnects = fixture.agent.stdout.split('reconnecting').length
      fixture.relay.freeze()
      await eventually(() => hasNoSession(fixture), 'the server gives up the session')
      await fixture.agent.until(({ stdout }) => stdout.split('reconnecting').length > reconnects)
    },
    async recover({ relay }) {
      relay.thaw()
    },
  },
  'a blackholed link, replaced immediately': {
    rounds: 3,
    async interrupt({ relay }) {
      relay.freeze()
    },
    async recover(fixture) {
      const reconnects = fixture.agent.stdout.split('reconnecting').length
      fixture.relay.thaw()
      await fixture.agent.until(({ stdout }) => stdout.split('reconnecting').length > reconnects)
    },
  },
  'an agent that is stopped and continued': {
    rounds: 1,
    async interrupt(fixture) {
      fixture.agent.child.kill('SIGSTOP')
      await eventually(() => hasNoSession(fixture), 'the server gives up the session')
    },
    async recover({ agent }) {
      agent.child.kill('SIGCONT')
    },
  },
  'an agent that is killed and started again': {
    rounds: 3,
    async interrupt({ agent }) {
      agent.child.kill('SIGKILL')
      await agent.waitForExit()
    },
    async recover(fixture) {
      fixture.agent = fixture.startAgent()
      await fixture.agent.until(({ stdout }) => stdout.includes('Forwarding'))
    },
  },
  'a server that is stopped and continued': {
    rounds: 1,
    async interrupt({ harness, agent }) {
      const reconnects = agent.stdout.split('reconnecting').length
      signalServer(harness.server.child.pid!, 'SIGSTOP')
      await agent.until(({ stdout }) => stdout.split('reconnecting').length > reconnects)
    },
    async recover({ harness }) {
      signalServer(harness.server.child.pid!, 'SIGCONT')
    },
  },
  'a server that is killed and started again': {
    rounds: 3,
    async interrupt({ harness }) {
      harness.server.child.kill('SIGKILL')
      await harness.server.waitForExit()
    },
    recover: ({ harness }) => harness.restart(),
  },
}

test('after any interruption the same name is served again soon, and no stale session remains', async (t) => {
  const fixture = await startFixture(t)

  for (const [title, { rounds, interrupt, recover }] of Object.entries(interruptions)) {
    await t.test(title, async () => {
      for (let round = 1; round <= rounds; round++) {
        await interrupt(fixture)
        await recover(fixture)
        await eventually(() => isServing(fixture), `${NAME} serves again in round ${round}`)

        for (const list of ['/tunnel_sessions', '/tunnels', '/endpoints'])
          assert.equal((await fixture.harness.list(list)).length, 1, `${list} in round ${round}`)
      }
    })
  }
})
