import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, eventuallyEqual } from '../support/eventually.ts'
import { type PickNode, startNodes } from './openid-nodes.ts'
import { signIn } from './openid-provider.ts'

const isLoginHost = ({ hostname }: URL) => hostname === 'idp.adit.localhost'
const isTicket = ({ searchParams }: URL) => searchParams.has('ticket')

test('a sign-in can begin, be redeemed and complete on different nodes, exactly once', async (t) => {
  const { first, second, browser, protectRoute, protectEndpoint } = await startNodes(t)
  for (const { url } of [await protectRoute(), await protectEndpoint()]) {
    const balancers: Record<string, PickNode> = {
      'redeemed elsewhere': (requestedUrl) => (isLoginHost(requestedUrl) ? second : first),
      'completed elsewhere': (requestedUrl) => (isTicket(requestedUrl) ? first : second),
    }
    for (const [title, pick] of Object.entries(balancers)) {
      const client = browser(pick)
      const ticketCookies: string[] = []
      const once = client.once.bind(client)
      client.once = (requestedUrl, init) => {
        if (isTicket(new URL(requestedUrl))) ticketCookies.push(...client.cookies(new URL(requestedUrl).host))
        return once(requestedUrl, init)
      }
      const page = await signIn(client, url)
      assert.equal(page.status, 200, `${url} ${title}: ${page.text}`)
      assert.match(page.text, /"adit-auth-user-id":"ada"/)

      const ticket = page.way.find((address) => isTicket(new URL(address))) ?? ''
      const callback = page.way.find((address) => isLoginHost(new URL(address))) ?? ''
      for (const node of [first, second]) {
        // With every cookie the browser had when it used the ticket.
        const cookie = ticketCookies.join('; ')
        for (const [used, init] of [[ticket, { headers: { cookie } }] as const, [callback, {}] as const]) {
          const replayer = browser(() => node)
          const replay = await replayer.once(used, init)
          // The page, or an error where the other node redeemed the code.
          assert.ok([303, 403].includes(replay.status), `${url} ${title}: ${used} again: ${replay.status}`)
          assert.equal((await replayer.once(url)).status, 302, 'leads back without a session')
        }
      }
    }
  }
})

test('a state is invalid on every node once its module has changed or its agent has disconnected', async (t) => {
  const { first, second, browser, waitForStatus, protectRoute, protectEndpoint } = await startNodes(t)
  const [route, endpoint] = [await protectRoute(), await protectEndpoint()]
  const begin = async (url: string) => {
    const client = browser(() => first)
    const response = await client.once(url)
    await response.text()
    return { client, location: response.headers.get('location') ?? '' }
  }
  const signIns = [await begin(route.url), await begin(endpoint.url)]

  assert.equal((await first.call('DELETE', route.module)).status, 204)
  await endpoint.agent.close()
  await waitForStatus(route.url, 200)
  await waitForStatus(endpoint.url, 404)

  for (const { client, location } of signIns) {
    const page = await signIn(client, location)
    assert.equal(page.status, 403)
    const callback = page.way.at(-1) ?? ''
    assert.ok(isLoginHost(new URL(callback)), 'it goes no further')
    assert.equal((await browser(() => second).once(callback)).status, 403)
  }
})

test('a session that is deleted at one node has ended at the other', async (t) => {
  const { first, second, browser, protectRoute, protectEndpoint } = await startNodes(t)
  for (const { url } of [await protectRoute(), await protectEndpoint()]) {
    const client = browser(() => second)
    assert.equal((await signIn(client, url)).status, 200)
    const session = await eventually(async () => {
      const { body } = await first.call('GET', '/app/sessions')
      return body.application_sessions[0]
    })
    assert.equal(session.public_url, new URL(url).origin)

    assert.equal((await first.call('DELETE', `/app/sessions/${session.id}`)).status, 204)

    await eventuallyEqual(async () => (await client.once(url)).status, 302)
  }
})
