import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import type { BindMessage } from '../protocol/index.ts'
import { startPlatform } from '../sessions/testing/platform.ts'

/** An agent with a tunnel, and the reasons it receives. */
async function bound(t: TestContext, request: BindMessage) {
  const platform = await startPlatform(t)
  const reasons: string[] = []
  const agent = await platform.agent(t, {
    onCommand: async (command) => {
      if (command.name === 'stopTunnel') reasons.push(command.message)
    },
  })
  const { URL: url } = await agent.bind(request)
  const online = () => platform.registry.tunnelsOf('ac_1').length
  assert.equal(online(), 1)
  return { ...platform, reasons, url, online }
}

const app: BindMessage = { Proto: 'https', Opts: { Domain: 'app.adit.test' } }

test('a tunnel ends when another account reserves its name, and its agent gets the reason', async (t) => {
  const { reservations, nameWatch, online, reasons } = await bound(t, app)

  reservations.set('app.adit.test', { id: 'rd_1', accountId: 'ac_2' })
  nameWatch.onReserved(['app.adit.test'])

  await eventually(() => online() === 0, 'the tunnel is offline', 1000)
  await eventually(() => reasons.length === 1, 'the reason for the agent')
  assert.match(reasons[0]!, /app\.adit\.test/)
})

test('a tunnel ends when a covering wildcard is reserved, or an edge gets its name', async (t) => {
  const wild = await bound(t, app)
  wild.reservations.set('*.adit.test', { id: 'rd_1', accountId: 'ac_2' })
  wild.nameWatch.onReserved(['*.adit.test'])
  const edged = await bound(t, app)
  edged.edges.add('app.adit.test')
  edged.nameWatch.onReserved(['app.adit.test'])

  await eventually(() => wild.online() === 0, 'the tunnel under the wildcard is offline', 1000)
  await eventually(() => edged.online() === 0, 'the tunnel at the edge is offline', 1000)
})

test('a TCP tunnel ends when another account reserves its address', async (t) => {
  const { reservations, nameWatch, online, url } = await bound(t, { Proto: 'tcp', Opts: {} })
  const address = url.replace('tcp://', '')

  reservations.set(address, { id: 'ra_1', accountId: 'ac_2' })
  nameWatch.onReserved([address])

  await eventually(() => online() === 0, 'the tunnel is offline', 1000)
})

test('a tunnel stays when its own account reserves the name, or others reserve other names', async (t) => {
  const { reservations, nameWatch, online, reasons } = await bound(t, app)
  reservations.set('app.adit.test', { id: 'rd_1', accountId: 'ac_1' })
  reservations.set('other.adit.test', { id: 'rd_2', accountId: 'ac_2' })
  reservations.set('*.app.adit.test', { id: 'rd_3', accountId: 'ac_2' })

  nameWatch.onReserved(['app.adit.test', 'other.adit.test', '*.app.adit.test'])
  const last = await bound(t, { Proto: 'https', Opts: { Domain: 'last.adit.test' } })
  last.reservations.set('last.adit.test', { id: 'rd_4', accountId: 'ac_2' })
  last.nameWatch.onReserved(['last.adit.test'])

  await eventually(() => last.online() === 0, 'what was claimed later is offline')
  assert.deepEqual([online(), reasons], [1, []])
})

test('a tunnel that was being bound while its name was reserved ends too', async (t) => {
  const { reservations, nameWatch, registry, agent } = await startPlatform(t)
  nameWatch.onReserved(['app.adit.test'])
  await (await agent(t)).bind(app)
  reservations.set('app.adit.test', { id: 'rd_1', accountId: 'ac_2' })

  await eventually(() => registry.tunnelsOf('ac_1').length === 0, 'the second look finds it', 2000)
})
