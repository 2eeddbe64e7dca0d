import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Value } from 'typebox/value'
import { resources } from '../../resources/index.ts'
import { startPlatform } from '../testing/platform.ts'
import { createOnlineResources } from './online-resources.ts'

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/
const showing = {
  uriOf: (id: string) => `https://api.test/${id}`,
  backendsOf: (_accountId: string, labels: Readonly<Record<string, string>>) =>
    labels.app ? ['bkdtg_1'] : [],
}

test('online resources are rendered with every documented field', async (t) => {
  const platform = await startPlatform(t)
  platform.reservations.set('a.ex.com', { id: 'rd_1', accountId: 'ac_1' })
  const agent = await platform.agent(t)
  await agent.bind({
    Proto: 'https',
    ForwardsTo: 'http://localhost:80',
    ForwardsProto: 'http2',
    Opts: { Domain: 'a.ex.com' },
    Extra: { Name: 'n', Description: 'd', Metadata: 'm', PoolingEnabled: true, PoolingWeight: 5 },
  })
  await agent.startTunnelWithLabel({ Labels: { app: 'web' }, ForwardsTo: 'localhost:81' })
  const online = createOnlineResources(platform.registry, showing)

  const [session] = online.sessions('ac_1')
  const [named, labelled] = online.tunnels('ac_1')
  const endpoints = online.endpoints('ac_1')

  const ref = (id: unknown) => ({ id, uri: `https://api.test/${id}` })
  const endpointId = `ep_${String(named!.id).slice(3)}`
  assert.match(String(session!.started_at), RFC3339)
  assert.deepEqual(session, {
    id: agent.authResponse.Extra.AgentSessionID,
    uri: `https://api.test/${agent.authResponse.Extra.AgentSessionID}`,
    agent_version: '0.1.0',
    credential: ref('cr_1'),
    ip: '127.0.0.1',
    legs: [{ ip: '127.0.0.1', region: 'us', started_at: session!.started_at }],
    metadata: 'a test',
    os: 'linux',
    region: 'us',
    started_at: session!.started_at,
    transport: 'adit/v2',
  })
  assert.deepEqual(named, {
    id: named!.id,
    started_at: named!.started_at,
    region: 'us',
    forwards_to: 'http://localhost:80',
    metadata: 'm',
    tunnel_session: ref(session!.id),
    proto: 'https',
    public_url: 'https://a.ex.com',
    endpoint: ref(endpointId),
    labels: null,
    backends: null,
  })
  assert.deepEqual(labelled, {
    id: labelled!.id,
    started_at: labelled!.started_at,
    region: 'us',
    forwards_to: 'localhost:81',
    metadata: '',
    tunnel_session: ref(session!.id),
    proto: null,
    public_url: null,
    endpoint: null,
    labels: { app: 'web' },
    backends: [ref('bkdtg_1')],
  })
  assert.equal(endpoints.length, 1)
  assert.deepEqual(endpoints[0], {
    id: endpointId,
    uri: `https://api.test/${endpointId}`,
    created_at: named!.started_at,
    updated_at: named!.started_at,
    region: 'us',
    type: 'ephemeral',
    proto: 'https',
    scheme: 'https',
    host: 'a.ex.com',
    port: 443,
    hostport: 'a.ex.com:443',
    public_url: 'https://a.ex.com',
    url: 'https://a.ex.com',
    bindings: ['public'],
    pooling_enabled: true,
    pooling_weight: 5,
    pools: [],
    name: 'n',
    description: 'd',
    metadata: 'm',
    domain: ref('rd_1'),
    tcp_addr: null,
    tunnel: ref(named!.id),
    tunnel_session: ref(session!.id),
    principal: ref('usr_1'),
    edge: null,
    upstream_url: 'http://localhost:80',
    upstream_protocol: 'http2',
    traffic_policy: '',
  })
})

test('the views have the shape the resources declare', async (t) => {
  const platform = await startPlatform(t)
  const agent = await platform.agent(t)
  await agent.bind({ Proto: 'tcp' })
  await agent.startTunnelWithLabel({ Labels: { app: 'web' } })
  const online = createOnlineResources(platform.registry, showing)

  const views = [
    ...online.sessions('ac_1').map((view) => [resources.tunnel_sessions.viewSchema, view] as const),
    ...online.tunnels('ac_1').map((view) => [resources.tunnels.viewSchema, view] as const),
    ...online.endpoints('ac_1').map((view) => [resources.endpoints.viewSchema, view] as const),
  ]

  assert.equal(views.length, 4)
  for (const [schema, view] of views) {
    assert.deepEqual([...Value.Errors(schema, view)], [])
    assert.deepEqual(
      Object.keys(view).toSorted(),
      Object.keys((schema as { properties?: object }).properties!).toSorted(),
    )
  }
})

test('other accounts see no sessions and cannot command them', async (t) => {
  const platform = await startPlatform(t)
  const agent = await platform.agent(t)
  const bound = await agent.startTunnelWithLabel({ Labels: { app: 'web' } })
  const online = createOnlineResources(platform.registry, showing)
  const id = agent.authResponse.Extra.AgentSessionID

  const mine = [online.tunnelsWith('ac_1', { app: 'web' }).length, await online.command('ac_1', id, 'stop')]
  const theirs = [online.sessions('ac_2'), online.tunnels('ac_2'), online.endpoints('ac_2')]

  assert.ok(bound.Id)
  assert.deepEqual(mine, [1, { done: true }])
  assert.deepEqual(theirs, [[], [], []])
  assert.deepEqual(online.tunnelsWith('ac_2', { app: 'web' }), [])
  assert.equal(await online.command('ac_2', id, 'stop'), undefined)
})
