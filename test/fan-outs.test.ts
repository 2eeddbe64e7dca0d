import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { CaptureStore } from '../src/agent/inspector/capture-store.ts'
import { startAgent } from '../src/agent/testing/agent.ts'
import { TestGateway } from '../src/agent/testing/gateway.ts'
import { Deadlines, Timed } from '../src/base/deadlines.ts'
import { fanOut } from '../src/base/fan-out.ts'
import { silentLog } from '../src/base/log.ts'
import { Turn } from '../src/base/turn.ts'
import { Inventory } from '../src/certs/inventory.ts'
import type { Observer } from '../src/edge/index.ts'
import { startEdge, startUpstream } from '../src/edge/testing/edge.ts'
import { rawClient } from '../src/edge/testing/raw-client.ts'
import { localTunnel, TestTunnels } from '../src/edge/testing/tunnels.ts'
import { listeners, observers } from '../src/server/observers.ts'

/**
 * Everything that tells several receivers of the same thing. Each `tell` connects the receivers with its subject and
 * makes it tell them, once each.
 */
const subjects: Record<string, (t: TestContext, receivers: readonly (() => void)[]) => void | Promise<void>> =
  {
    'the fan-out itself': (_t, receivers) =>
      fanOut(
        receivers,
        (receiver) => receiver(),
        () => {},
      ),

    'observers of finished requests': (_t, receivers) => {
      observers(silentLog, ...receivers.map(observer)).onRequest({ accountId: 'ac' } as never)
    },

    'observers of finished connections': (_t, receivers) => {
      observers(silentLog, ...receivers.map(observer)).onConnection({ accountId: 'ac' } as never)
    },

    'listeners to sessions and tunnels': (_t, receivers) => listeners<void>(silentLog, receivers)(),

    'those whose deadline is the same': (_t, receivers) => {
      let now = 0
      const deadlines = new Deadlines({ now: () => now, monotonic: () => now }, 100, () => {})
      for (const receiver of receivers) deadlines.set(new (timed(receiver))(), 1)
      now += 100
      deadlines.advance()
    },

    'those that write at the end of a turn': async (_t, receivers) => {
      const turn = new Turn(() => {})
      for (const flush of receivers) turn.add({ flush })
      await new Promise(setImmediate)
    },

    'listeners to the certificate inventory': (_t, receivers) => {
      const inventory = new Inventory('adit.test', silentLog)
      for (const receiver of receivers) inventory.onChange(receiver)
      inventory.change([])
    },

    'listeners to the records of certificates': (_t, receivers) => {
      const inventory = new Inventory('adit.test', silentLog)
      for (const receiver of receivers) inventory.onRecords(receiver)
      inventory.reset([], 1)
    },

    'listeners to captures': (_t, receivers) => {
      const store = new CaptureStore(1e6, [], () => {})
      for (const receiver of receivers) store.follow(() => {}, receiver)
      store.clear()
    },

    'listeners to the agent': async (t, receivers) => {
      const { agent, ended } = startAgent(t, await TestGateway.start(t))
      const told = new Promise<void>((resolve) => agent.follow(resolve))
      const stops = receivers.map((receiver) => {
        const stop = agent.follow(() => {
          stop()
          receiver()
        })
        return stop
      })
      await Promise.race([told, ended])
      for (const stop of stops) stop()
    },

    'the visitors of requests whose observer fails': async (t, receivers) => {
      const [first, failing, last] = receivers
      const observe = observer(() => {
        first!()
        failing!()
      })
      const upstream = await startUpstream(t, (_request, response) => response.end('hello'))
      const tunnels = new TestTunnels().add('app.adit.localhost', localTunnel(upstream))
      const { port } = await startEdge(t, tunnels, {}, { observe })
      const ask = 'GET / HTTP/1.1\r\nHost: app.adit.localhost\r\n\r\n'
      await rawClient(t, port).write(ask).untilText('hello')
      await rawClient(t, port).write(ask).untilText('hello')
      last!()
    },
  }

for (const [what, tell] of Object.entries(subjects)) {
  test(`one that throws keeps none of the others from being told: ${what}`, async (t) => {
    const told: string[] = []

    await tell(t, [
      () => void told.push('first'),
      () => {
        told.push('failing')
        throw new Error('This receiver always fails.')
      },
      () => void told.push('last'),
    ])

    assert.deepEqual([...new Set(told)], ['first', 'failing', 'last'])
  })
}

function observer(onEvent: () => void): Observer {
  return {
    wantsRequests: () => true,
    onRequest: onEvent,
    wantsConnections: () => true,
    onConnection: onEvent,
  }
}

function timed(onDeadline: () => void) {
  return class extends Timed {
    onDeadline(): void {
      onDeadline()
    }
  }
}
