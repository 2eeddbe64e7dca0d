import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startPlatform } from '../sessions/testing/platform.ts'
import { createNodes, session, startNode } from './testing/node.ts'

/** Nobody receives what is published before the nodes are linked, which takes a while on a busy machine. */
const limits = { introductionMs: 30_000 }

/** A node with a gateway for agents, and a peer of it. */
async function startNodes(t: TestContext) {
  const nodes = createNodes()
  const platform = await startPlatform(t)
  const home = await startNode(t, nodes, 'home', { limits, registry: platform.registry })
  const received: unknown[] = []
  const peer = await startNode(t, nodes, 'peer', {
    limits,
    receive: (_topic, revocation) => received.push(revocation),
  })
  return { platform, home, peer, received }
}

test('what an agent is told has happened is known to every peer', async (t) => {
  const { platform, peer } = await startNodes(t)
  const tunnels = () => peer.registry.tunnelsOf('ac_1').map(({ name }) => name)

  for (let round = 0; round < 10; round++) {
    const agent = await platform.agent(t)
    const { AgentSessionID } = agent.authResponse.Extra
    assert.notEqual(peer.registry.session('ac_1', AgentSessionID), undefined, 'the session')
    const { Id, Extra } = await agent.bind({ Proto: 'https', Opts: {} })
    assert.deepEqual(tunnels(), [''], 'the tunnel')
    await agent.patchTunnelState({ TunnelId: Extra.TunnelID, Name: 'patched' })
    assert.deepEqual(tunnels(), ['patched'], 'the patch')
    await agent.unbind(Id)
    assert.deepEqual(tunnels(), [], 'the end of the tunnel')
  }
})

test('a revocation is applied by every peer before it is confirmed', async (t) => {
  const { home, peer, received } = await startNodes(t)

  for (let number = 1; number <= 10; number++) {
    home.cluster.publish('revocation', [{ subject: `person ${number}` }])
    await home.cluster.published()
    assert.deepEqual(received.at(-1), { subject: `person ${number}` })
  }
  // It reads its own from the database.
  peer.cluster.publish('revocation', [{ subject: 'elsewhere' }])
  await peer.cluster.published()
  assert.equal(received.length, 10)
})

test('a peer that rejects a revocation stays linked', async (t) => {
  const nodes = createNodes()
  const home = await startNode(t, nodes, 'home', { limits })
  const peer = await startNode(t, nodes, 'peer', {
    limits,
    receive() {
      throw new TypeError('There is no such revocation.')
    },
  })

  home.cluster.publish('revocation', ['unknown'])
  home.registry.addSession(session('ts_1'))
  await home.registry.published()

  assert.notEqual(peer.registry.session('ac_1', 'ts_1'), undefined)
})
