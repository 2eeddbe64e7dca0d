import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiClient } from '../../../../test/support/api.ts'
import { assertRejected } from '../../../../test/support/assert-rejected.ts'
import { engines } from '../../../../test/support/engines.ts'
import { createOnline } from '../../../../test/support/online.ts'
import { hostport, nextNumber } from '../../../../test/support/samples.ts'

type Item = Record<string, unknown> & { id: string }

/** Reads all pages of the list, each with at most `limit` items. */
async function readPages(call: ApiClient, limit: number): Promise<Item[]> {
  const endpoints: Item[] = []
  let page: string | null = `/endpoints?limit=${limit}`
  while (page !== null) {
    const { status, body } = await call('GET', page)
    assert.equal(status, 200, JSON.stringify(body))
    assert.ok(body.endpoints.length > 0 && body.endpoints.length <= limit)
    endpoints.push(...body.endpoints)
    page = body.next_page_uri
  }
  return endpoints
}

for (const [engine, start] of Object.entries(engines))
  test(`every hostport of an edge is an endpoint, on ${engine}`, async (t) => {
    const online = createOnline()
    const api = await start(t, { online })
    const wildcard = `*.wild${nextNumber()}.example.com`
    const domain = await api.call.create('/reserved_domains', { domain: wildcard })
    const { addr, id: addrId } = await api.call.create('/reserved_addrs', {})
    const covered = wildcard.replace('*', 'app')
    const https = await api.call.create('/edges/https', {
      hostports: [`${covered}:443`, await hostport(api.call)],
      description: 'shop',
    })
    const tls = await api.call.create('/edges/tls', { hostports: [await hostport(api.call)] })
    const tcp = await api.call.create('/edges/tcp', { hostports: [addr] })
    await api.call.create('/edges/https', {})
    const agent = online.putOnline(api.account.accountId, api.url).endpoint

    const all = await readPages(api.call, 100)

    const of = (id: string) => all.filter(({ edge }) => (edge as Item | null)?.id === id)
    assert.equal(all.length, 5)
    assert.ok(all.some(({ id, type }) => id === agent && type === 'ephemeral'))
    assert.deepEqual(
      all
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
      all.map(({ id }) => id),
    )
    const ours = of(https.id).find((item) => item.hostport === `${covered}:443`)!
    assert.match(ours.id, /^ep_[0-9A-Za-z]{27}$/)
    assert.deepEqual(ours, {
      id: ours.id,
      uri: `${api.url}/endpoints/${ours.id}`,
      created_at: https.created_at,
      updated_at: https.created_at,
      region: 'us',
      type: 'edge',
      proto: 'https',
      scheme: 'https',
      host: covered,
      port: 8443,
      hostport: `${covered}:443`,
      public_url: `https://${covered}:8443`,
      url: `https://${covered}:8443`,
      bindings: ['public'],
      pooling_enabled: false,
      pooling_weight: 1,
      pools: [],
      name: '',
      description: 'shop',
      metadata: '',
      domain: { id: domain.id, uri: `${api.url}/reserved_domains/${domain.id}` },
      tcp_addr: null,
      tunnel: null,
      tunnel_session: null,
      principal: null,
      edge: { id: https.id, uri: `${api.url}/edges/https/${https.id}` },
      upstream_url: '',
      upstream_protocol: '',
      traffic_policy: '',
    })
    const [byName] = of(tls.id)
    assert.deepEqual([byName!.proto, byName!.hostport], ['tls', tls.hostports[0]])
    const [byPort] = of(tcp.id)
    assert.deepEqual(
      [byPort!.proto, byPort!.public_url, (byPort!.tcp_addr as Item).id, byPort!.domain],
      ['tcp', `tcp://${addr}`, addrId, null],
    )

    for (const limit of [1, 2, 3, 4])
      assert.deepEqual(await readPages(api.call, limit), all, `${limit} at once`)
    for (const item of all) assert.deepEqual((await api.call('GET', `/endpoints/${item.id}`)).body, item)
    for (const { id } of all)
      await assertRejected(api, () => api.callAsOther('GET', `/endpoints/${id}`), {
        status: 404,
        what: 'a stranger',
      })
    assert.deepEqual((await api.callAsOther('GET', '/endpoints')).body.endpoints, [])

    await api.call('PATCH', `/edges/tls/${tls.id}`, { body: { description: 'changed' } })
    assert.equal((await api.call('GET', `/endpoints/${byName!.id}`)).body.description, 'changed')
    await api.call('DELETE', `/edges/tcp/${tcp.id}`)
    await assertRejected(api, () => api.call('GET', `/endpoints/${byPort!.id}`), {
      status: 404,
      what: 'deleted',
    })
  })

test('lists continue over several batches of edges, with and without hostports', async (t) => {
  const api = await engines.SQLite!(t)
  const { domain } = await api.call.create('/reserved_domains', { domain: '*.many.example.com' })
  const expected = new Set<string>()
  for (let number = 0; number < 240; number++) {
    const name = `${domain.replace('*', `n${number}`)}:443`
    const hostports = number % 3 === 0 ? [] : [name]
    if (hostports.length > 0) expected.add(name)
    await api.call.create('/edges/https', { hostports })
  }

  for (const limit of [7, 100]) {
    const endpoints = await readPages(api.call, limit)
    assert.equal(endpoints.length, expected.size)
    assert.deepEqual(new Set(endpoints.map((item) => item.hostport)), expected)
    assert.equal(endpoints[0]!.hostport, 'n239.many.example.com:443')
  }
})
