import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { Agent, fetch } from 'undici'
import { createClient, type TestResponse } from '../../support/api.ts'
import { eventually } from '../../support/eventually.ts'
import { startHttp } from '../../support/local-server.ts'
import { startServerProcess } from '../../support/server-process.ts'
import { createTempDir } from '../../support/temp-dir.ts'

/** What the service behind a route shows of a request, as JSON in the element `request`. */
export interface ShownRequest {
  readonly url: string
  /** The headers about the visitor, without `adit-auth-user-`. */
  readonly user: Readonly<Record<string, string>>
  /** The claims among them, decoded. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
}

/** A route with a host of its own. */
export interface ProtectedPage {
  /** Without a slash at its end. */
  readonly url: string
  readonly route: TestResponse['body']
}

/** A platform in its own process, with two workers, that may call providers on this machine. */
export interface ProtectedPages {
  /** The base URL of the login host. */
  readonly idpUrl: string
  /** The same for providers that neither resolve its name nor trust its certificate: without TLS, at an address. */
  readonly plainIdpUrl: string
  /** Creates a route with these modules to a service that shows its requests. */
  protect(modules: object): Promise<ProtectedPage>
  /** Creates a route with these rules for requests to the same service. */
  protectByPolicy(rules: readonly object[]): Promise<ProtectedPage>
  /** Reads a document, such as the metadata of a service provider. */
  read(url: string): Promise<string>
  /** Waits until the owner of a page is told of a sign-in that failed there. */
  waitForFailure(page: string): Promise<FailedSignIn>
  /** What the server has logged of failed sign-ins. */
  failureLog(): string[]
}

/** What the owner of a page is told of a failed sign-in. */
export interface FailedSignIn {
  readonly public_url: string
  readonly failure: string
  readonly setting: string
  readonly error?: string
  readonly error_description?: string
  readonly reason?: string
}

/** Starts a platform for routes that require a sign-in. */
export async function startProtectedPages(
  t: TestContext,
  environment: Readonly<Record<string, string>> = {},
): Promise<ProtectedPages> {
  const flags = ['--workers', '2', '--outbound-allow', '127.0.0.1', '--login-rate-limit', '0']
  const server = await startServerProcess(t, createTempDir(), flags, { environment })
  const { credentials, url, apiKey } = server
  const call = createClient(url, apiKey)
  const dispatcher = new Agent({
    connect: {
      ca: await readFile(credentials.ca_file, 'utf8'),
      lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
    },
  })
  t.after(() => dispatcher.destroy())
  const get = (address: string) => fetch(address, { dispatcher, redirect: 'manual' })
  const { port } = new URL(credentials.https_url)
  const idpUrl = `https://idp.adit.localhost:${port}`
  const plainPort = await startHttp(t, async ({ method = '', url = '', headers }, response) => {
    const request = { method, dispatcher, headers: { 'content-type': headers['content-type'] ?? '' } }
    const { status } = await fetch(`${idpUrl}${url}`, { ...request, body: await text(response.req) })
    response.writeHead(status).end()
  })
  const address = `127.0.0.1:${await startRequestPage(t)}`
  const backend = await call.create('/backends/static', { address })
  let count = 0

  async function protect(modules: object): Promise<ProtectedPage> {
    const host = `page-${++count}.adit.localhost`
    await call.create('/reserved_domains', { domain: host })
    const edge = await call.create('/edges/https', { hostports: [`${host}:443`] })
    const route = await call.create(`/edges/https/${edge.id}/routes`, {
      match_type: 'path_prefix',
      match: '/',
      backend: { backend_id: backend.id },
      ...modules,
    })
    const page = `https://${host}:${port}`
    await eventually(async () => (await get(page)).status !== 404, `${page} is served`)
    return { url: page, route }
  }

  return {
    idpUrl,
    plainIdpUrl: `http://127.0.0.1:${plainPort}`,
    protect,
    protectByPolicy: (rules) =>
      protect({ traffic_policy: { value: JSON.stringify({ on_http_request: rules }) } }),
    async read(document) {
      const response = await get(document)
      return response.text()
    },
    waitForFailure: (page) =>
      eventually(async () => {
        const { body } = await call('GET', '/dashboard/api/failed_sign_ins')
        return (body.failed_sign_ins as FailedSignIn[]).find(({ public_url }) => public_url === page)
      }, `a failed sign-in on ${page}`),
    failureLog: () =>
      server
        .output()
        .split('\n')
        .filter((line) => line.includes('sign-in failed')),
  }
}

function startRequestPage(t: TestContext): Promise<number> {
  return startHttp(t, ({ url = '', headers }, response) => {
    const texts = Object.entries(headers).map(([name, value]): [string, string] => [
      name,
      // Values are UTF-8, which Node reads as Latin-1.
      Buffer.from(String(value), 'latin1').toString(),
    ])
    const prefix = 'adit-auth-user-'
    const user = texts.flatMap(([name, value]) =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), value] as const] : [],
    )
    const { claims = '', ...rest } = Object.fromEntries(user)
    const shown: ShownRequest = {
      url,
      user: rest,
      claims: claims === '' ? {} : JSON.parse(Buffer.from(claims, 'base64url').toString()),
      headers: Object.fromEntries(texts),
    }
    const json = JSON.stringify(shown).replaceAll('&', '&amp;').replaceAll('<', '&lt;')
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(`<!doctype html><pre id="request">${json}</pre>`)
  })
}
