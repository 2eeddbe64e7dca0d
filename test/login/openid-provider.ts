import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { CookieClient } from '../support/browser-client.ts'
import { eventuallyStatus, type TestPlatform } from '../support/platform.ts'
import { createAppRoute, startHeaderEcho } from './protected-route.ts'

// oidc-provider warns about every setting that makes it usable in a test.
for (const level of ['info', 'warn'] as const) {
  const write = console[level].bind(console)
  console[level] = (...args: unknown[]) => {
    if (!String(args[0]).includes('oidc-provider')) write(...args)
  }
}

// Imported dynamically, because it also warns while it is loaded.
const { default: Provider } = await import('oidc-provider')

/** The client secret of `app` and `other`, the applications registered at the provider. */
export const CLIENT_SECRET = 'app-secret-app-secret-app-secret'

/** Starts a real OpenID provider that accepts any login and password. It gives refresh tokens for `offline_access`. */
export async function startProvider(
  t: TestContext,
  redirectUri: string,
  {
    configuration = {},
    client = {},
    intercept,
  }: {
    configuration?: Record<string, unknown>
    /** Further metadata of the applications. */
    client?: Record<string, unknown>
    /** Sees every request first; true when it responds itself. */
    intercept?: (request: IncomingMessage, response: ServerResponse) => boolean
  } = {},
) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: ['app', 'other'].map((client_id) => ({
      client_id,
      client_secret: CLIENT_SECRET,
      redirect_uris: [redirectUri],
      post_logout_redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      ...client,
    })),
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: async () => ({
        sub: id,
        name: 'Ada',
        email: id.includes('@') ? id : `${id}@example.com`,
        email_verified: true,
        groups: ['staff'],
      }),
    }),
    cookies: { keys: ['test'] },
    features: { devInteractions: { enabled: true } },
    ...configuration,
  })
  const respond = provider.callback()
  server.on('request', (request, response) => {
    if (intercept?.(request, response) !== true) respond(request, response)
  })
  return { issuer }
}

/** Starts a service behind a route that asks for a sign-in at a provider. The platform has to allow calls to 127.0.0.1. */
export async function createProtectedRoute(t: TestContext, platform: TestPlatform) {
  const port = new URL(platform.credentials.https_url).port
  const { issuer } = await startProvider(t, `https://idp.adit.localhost:${port}/oauth2/callback`)
  const oidc = { issuer, client_id: 'app', client_secret: CLIENT_SECRET }
  const { edge, route } = await createAppRoute(platform, await startHeaderEcho(t), { oidc })
  const path = `/edges/https/${edge.id}/routes/${route.id}`
  const url = `https://app.adit.localhost:${port}`
  await eventuallyStatus(platform, url, 302)
  return { url, path, issuer, oidc }
}

/** Submits the provider's sign-in and consent pages. */
export async function signIn(browser: CookieClient, url: string, login = 'ada') {
  let page = await browser.get(url)
  const way = [...page.way]
  for (let step = 0; step < 3 && page.text.includes('<form'); step++) {
    const action = /action="([^"]+)"/.exec(page.text)?.[1] ?? ''
    const prompt = /name="prompt" value="([^"]+)"/.exec(page.text)?.[1] ?? 'login'
    const form = new URLSearchParams({ prompt, ...(prompt === 'login' && { login, password: 'x' }) })
    const response = await browser.once(new URL(action, page.way.at(-1)).href, {
      method: 'POST',
      body: form.toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    await response.text()
    page = await browser.get(new URL(response.headers.get('location') ?? '', page.way.at(-1)).href)
    way.push(...page.way)
  }
  return { ...page, way }
}

/** Confirms the sign-out that the provider asks about; returns where it leads. */
export async function confirmSignOut(
  browser: CookieClient,
  asked: { readonly text: string },
): Promise<string> {
  const [, action = ''] = /action="([^"]+)"/.exec(asked.text) ?? []
  const [, xsrf = ''] = /name="xsrf" value="([^"]+)"/.exec(asked.text) ?? []
  const response = await browser.once(action, {
    method: 'POST',
    body: new URLSearchParams({ xsrf, logout: 'yes' }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
  await response.text()
  return response.headers.get('location') ?? ''
}
