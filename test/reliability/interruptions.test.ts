import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Program } from '../../src/agent/testing/program.ts'
import { promised, startLocal, startWorld, textOf, until, type World } from './harness.ts'
import { type Relay, startRelay } from './relay.ts'

const NAME = 'steady.adit.localhost'

/** A running tunnel, its agent behind a cable, with hearts that beat as fast as is allowed. */
interface Scene {
  readonly world: World
  readonly relay: Relay
  agent: Program
  startAgent(): Program
}

async function setScene(t: TestContext): Promise<Scene> {
  const [world, port] = await Promise.all([
    startWorld(t),
    startLocal(t, (_request, response) => response.end('served')),
  ])
  const relay = await startRelay(t, world.agentPort)
  const startAgent = () =>
    world.startAgent(['http', String(port), `--url=http://${NAME}`], {
      ADIT_CONNECT_URL: `127.0.0.1:${relay.port}`,
      ADIT_CONNECT_CAS: world.credentials.ca_file,
      ADIT_AUTHTOKEN: world.credentials.authtoken,
      ADIT_HEARTBEAT_INTERVAL: '1s',
      ADIT_HEARTBEAT_TOLERANCE: '1s',
      ADIT_CONNECT_TIMEOUT: '500ms',
    })
  const scene = { world, relay, startAgent, agent: startAgent() }
  await scene.agent.until(({ stdout }) => stdout.includes('Forwarding'))
  await until(() => serves(scene), 'the tunnel serves')
  return scene
}

async function serves({ world }: Scene): Promise<boolean> {
  const response = await world.ask(NAME)
  return (await textOf(response)) === 'served'
}

const isGone = async ({ world }: Scene) => (await world.list('/tunnel_sessions')).length === 0

interface Interruption {
  /** Fewer where the server has to notice by itself, which takes its time. */
  readonly rounds: number
  breakIt(scene: Scene): Promise<void>
  mend(scene: Scene): Promise<void>
}

/** How a link can break, and how the peer comes back. */
const interruptions: Record<string, Interruption> = {
  'a link that swallows everything': {
    rounds: 1,
    async breakIt(scene) {
      const lost = scene.agent.stdout.split('reconnecting').length
      scene.relay.freeze()
      await until(() => isGone(scene), 'the server gives up the session')
      await scene.agent.until(({ stdout }) => stdout.split('reconnecting').length > lost)
    },
    async mend({ relay }) {
      relay.thaw()
    },
  },
  'a link that swallows everything, with a new one at once': {
    rounds: 3,
    async breakIt({ relay }) {
      relay.freeze()
    },
    async mend(scene) {
      const lost = scene.agent.stdout.split('reconnecting').length
      scene.relay.thaw()
      await scene.agent.until(({ stdout }) => stdout.split('reconnecting').length > lost)
    },
  },
  'an agent that is stopped and continued': {
    rounds: 1,
    async breakIt(scene) {
      scene.agent.child.kill('SIGSTOP')
      await until(() => isGone(scene), 'the server gives up the session')
    },
    async mend({ agent }) {
      agent.child.kill('SIGCONT')
    },
  },
  'an agent that is killed and started again': {
    rounds: 3,
    async breakIt({ agent }) {
      agent.child.kill('SIGKILL')
      await agent.ended()
    },
    async mend(scene) {
      scene.agent = scene.startAgent()
      await scene.agent.until(({ stdout }) => stdout.includes('Forwarding'))
    },
  },
  'a server that is killed and started again': {
    rounds: 3,
    async breakIt({ world }) {
      world.server.child.kill('SIGKILL')
      await world.server.ended()
    },
    mend: ({ world }) => world.restart(),
  },
}

test('after any interruption the same name serves again soon, and no ghost stays', async (t) => {
  const scene = await setScene(t)

  for (const [what, { rounds, breakIt, mend }] of Object.entries(interruptions)) {
    await t.test(what, async (t) => {
      for (let round = 1; round <= rounds; round++) {
        await breakIt(scene)
        await mend(scene)
        const taken = await until(() => serves(scene), `${NAME} serves again`)

        t.diagnostic(`round ${round}: ${taken.toFixed(0)} ms`)
        assert.ok(taken <= promised(2000), `round ${round} took ${taken} ms`)
        for (const list of ['/tunnel_sessions', '/tunnels', '/endpoints'])
          assert.equal((await scene.world.list(list)).length, 1, `${list} in round ${round}`)
      }
    })
  }
})
