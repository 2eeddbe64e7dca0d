import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { connect } from '../../src/agent/index.ts'
import { cleanEnv } from '../support/agent-process.ts'
import type { ApiClient } from '../support/api.ts'
import { CookieClient } from '../support/browser-client.ts'
import { startHttp } from '../support/local-server.ts'
import { eventuallyStatus, startPlatform } from '../support/platform.ts'
import { createSecondAccount } from '../support/second-account.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { CLIENT_SECRET, signIn, startProvider } from './openid-provider.ts'

// RFC 9700 sections 4.4, 4.5 and 4.7, with two tenants: the victim uses the pages of `shop`, the tenant of `evil` attacks.

async function startTenants(t: TestContext) {
  const platform = await startPlatform(t, ['--outbound-allow', '127.0.0.1'])
  const other = await createSecondAccount(platform)
  const port = new URL(platform.credentials.https_url).port
  const provider = await startProvider(t, `https://idp.adit.localhost:${port}/oauth2/callback`)
  /** The request paths received by the attacker's upstream. */
  const evilPaths: string[] = []
  const upstreams = {
    shop: await startHttp(t, (request, response) => response.end(JSON.stringify(request.headers))),
    evil: await startHttp(t, (request, response) => {
      evilPaths.push(request.url ?? '')
      response.end('evil')
    }),
  }
  const client = (client_id: string, issuer = provider.issuer) => ({
    issuer,
    client_id,
    client_secret: CLIENT_SECRET,
  })

  /** Creates a route of a tenant that requires a sign-in. */
  async function protect(call: ApiClient, name: 'shop' | 'evil', oidc: Record<string, unknown>) {
    const host = `${name}.adit.localhost`
    await call.create('/reserved_domains', { domain: host })
    const backend = await call.create('/backends/static', { address: `127.0.0.1:${upstreams[name]}` })
    const edge = await call.create('/edges/https', { hostports: [`${host}:443`] })
    const route = await call.create(`/edges/https/${edge.id}/routes`, {
      match_type: 'path_prefix',
      match: '/',
      backend: { backend_id: backend.id },
      oidc,
    })
    const url = `https://${host}:${port}`
    await eventuallyStatus(platform, url, 302)
    return { url, module: `/edges/https/${edge.id}/routes/${route.id}/oidc` }
  }

  async function startAgent(options: Record<string, unknown>) {
    const agent = await connect({
      env: cleanEnv(createTempDir(), {}),
      connectUrl: platform.credentials.agent_addr,
      authtoken: other.authtoken,
      rootCas: platform.credentials.ca_file,
    })
    t.after(() => agent.close())
    await agent.forward({ addr: upstreams.evil, url: 'https://evil-agent.adit.localhost', ...options })
    return agent
  }

  /** Begins a sign-in and returns the provider URL the browser is redirected to. */
  async function begin(browser: CookieClient, url: string): Promise<URL> {
    const response = await browser.once(url)
    await response.text()
    assert.equal(response.status, 302)
    return new URL(response.headers.get('location') ?? '')
  }

  const shop = await protect(platform.call, 'shop', client('app'))
  const browser = () => new CookieClient(platform)
  return {
    platform,
    other,
    port,
    evilPaths,
    client,
    shop,
    protect,
    startAgent,
    begin,
    browser,
  }
}

type Tenants = Awaited<ReturnType<typeof startTenants>>

/** Starts a sign-in at the shop as the attacker, with the state replaced by one of the attacker's own page. */
async function startSwappedSignIn({ begin, browser, shop }: Tenants, evilUrl: string) {
  const attacker = browser()
  const link = await begin(attacker, `${shop.url}/account`)
  const { searchParams } = await begin(attacker, evilUrl)
  link.searchParams.set('state', searchParams.get('state') ?? '')
  return { attacker, link: link.href }
}

function assertNothingStolen({ evilPaths }: Tenants, visitedUrls: readonly string[], evilHost: string): void {
  assert.ok(
    visitedUrls.some((address) => address.includes('/oauth2/callback?code=')),
    'the provider issued a code',
  )
  for (const address of visitedUrls) assert.notEqual(new URL(address).hostname, evilHost)
  assert.deepEqual(
    evilPaths.filter((path) => path.includes('code=') || path.includes('ticket=')),
    [],
  )
}

for (const removed of [true, false])
  test(`a code for one tenant's application does not reach another tenant whose state is sent with it${removed ? ', with the module deleted' : ''}`, async (t) => {
    const tenants = await startTenants(t)
    const { platform, other, client, protect, browser, shop } = tenants
    const evil = await protect(other.call, 'evil', client('other'))
    const { attacker, link } = await startSwappedSignIn(tenants, evil.url)
    if (removed) {
      assert.equal((await other.call('DELETE', evil.module)).status, 204)
      await eventuallyStatus(platform, evil.url, 200)
    }

    const victim = await signIn(browser(), link, 'victim')

    assert.equal(victim.status, 403)
    assertNothingStolen(tenants, victim.way, 'evil.adit.localhost')
    assert.equal((await attacker.once(shop.url)).status, 302, 'the attacker is not signed in')
  })

test('a code for one tenant’s application does not reach the endpoint of another tenant’s agent', async (t) => {
  const tenants = await startTenants(t)
  const { platform, client, startAgent, browser, port, shop } = tenants
  const url = `https://evil-agent.adit.localhost:${port}`
  const { issuer, client_id, client_secret } = client('other')
  const agent = await startAgent({ oidc: { issuer_url: issuer, client_id, client_secret } })
  await eventuallyStatus(platform, url, 302)
  const { attacker, link } = await startSwappedSignIn(tenants, url)
  await agent.close()
  await eventuallyStatus(platform, url, 404)
  await startAgent({})
  await eventuallyStatus(platform, url, 200)

  const victim = await signIn(browser(), link, 'victim')

  assert.equal(victim.status, 403)
  assertNothingStolen(tenants, victim.way, 'evil-agent.adit.localhost')
  assert.equal((await attacker.once(shop.url)).status, 302)
})

/**
 * A provider of the attacker. It redirects clients to another tenant's page and records the codes it is asked to
 * redeem. As the provider of the victim's page it issues codes to any redirect URI.
 */
async function startPlainProvider(t: TestContext, announcesIssuer: boolean) {
  const provider = {
    issuer: '',
    redeemed: [] as string[],
    next(query: URLSearchParams): string {
      const url = new URL(query.get('redirect_uri') ?? '')
      url.searchParams.append('code', 'the-code')
      url.searchParams.append('state', query.get('state') ?? '')
      return url.href
    },
  }
  const port = await startHttp(t, (request, response) => {
    const url = new URL(request.url ?? '', provider.issuer)
    if (url.pathname === '/auth') {
      response.writeHead(302, { location: provider.next(url.searchParams) }).end()
      return
    }
    response.setHeader('content-type', 'application/json')
    if (url.pathname === '/token') {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        provider.redeemed.push(Buffer.concat(chunks).toString())
        response.end('{}')
      })
      return
    }
    response.end(
      JSON.stringify({
        issuer: provider.issuer,
        authorization_endpoint: `${provider.issuer}/auth`,
        token_endpoint: `${provider.issuer}/token`,
        jwks_uri: `${provider.issuer}/keys`,
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: ['RS256'],
        ...(announcesIssuer && { authorization_response_iss_parameter_supported: true }),
      }),
    )
  })
  provider.issuer = `http://127.0.0.1:${port}`
  return provider
}

for (const announces of [true, false])
  test(`a code of one provider is not redeemed at another, which ${announces ? 'announces' : 'does not announce'} an iss parameter in responses`, async (t) => {
    const tenants = await startTenants(t)
    const { platform, other, client, protect, browser, begin, shop } = tenants
    const attackerProvider = await startPlainProvider(t, announces)
    const evil = await protect(other.call, 'evil', client('x', attackerProvider.issuer))
    let link = await begin(browser(), shop.url)
    attackerProvider.next = (query) => {
      link.searchParams.set('state', query.get('state') ?? '')
      return link.href
    }

    const victim = await signIn(browser(), evil.url, 'victim')

    assert.ok(victim.way.some((address) => address.includes('/oauth2/callback?code=')))
    assert.equal(victim.status, 403)
    assert.deepEqual(attackerProvider.redeemed, [])

    // The same with a provider that sends no iss parameter and accepts a longer redirect URI.
    const silentProvider = await startPlainProvider(t, false)
    const updateResponse = await platform.call('PUT', shop.module, {
      body: client('app', silentProvider.issuer),
    })
    assert.equal(updateResponse.status, 200)
    await eventuallyStatus(platform, shop.url, 302)
    do link = await begin(browser(), shop.url)
    while (link.origin !== silentProvider.issuer)
    const redirectUri = link.searchParams.get('redirect_uri') ?? ''
    for (const suffix of ['', `?iss=${encodeURIComponent(attackerProvider.issuer)}`]) {
      link.searchParams.set('redirect_uri', redirectUri + suffix)
      const page = await browser().get(evil.url)
      assert.ok(page.way.some((address) => address.includes('code=the-code')))
      assert.equal(page.status, 403)
    }
    assert.deepEqual(attackerProvider.redeemed, [])
  })

test('completing a sign-in that another browser began signs neither browser in', async (t) => {
  const { begin, browser, shop, port } = await startTenants(t)
  const [attacker, victim] = [browser(), browser()]
  const link = await begin(attacker, shop.url)

  const page = await signIn(victim, link.href, 'victim')

  assert.equal(page.status, 403)
  assert.deepEqual(
    victim.cookies(`shop.adit.localhost:${port}`).filter((cookie) => cookie.includes('session')),
    [],
  )
  const ticket = page.way.find((address) => address.includes('ticket=')) ?? ''
  assert.equal(new URL(ticket).hostname, 'shop.adit.localhost')
  assert.equal((await attacker.once(ticket)).status, 303, 'the ticket is used up')
  assert.equal((await attacker.once(shop.url)).status, 302)
})

test('sign-ins of two tenants at the same provider work side by side', async (t) => {
  const { other, client, protect, browser, shop } = await startTenants(t)
  const evil = await protect(other.call, 'evil', client('other'))
  const cookieClient = browser()

  const [first, second] = [await signIn(cookieClient, shop.url), await signIn(cookieClient, evil.url)]

  assert.deepEqual([first.status, second.status], [200, 200])
  assert.match(first.text, /"adit-auth-user-id":"ada"/)
  assert.ok(!second.way.some((address) => new URL(address).hostname.startsWith('shop')))
})
