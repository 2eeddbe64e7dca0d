import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

// It warns about everything that makes it usable in a test.
for (const level of ['info', 'warn'] as const) {
  const write = console[level].bind(console)
  console[level] = (...words: unknown[]) => {
    if (!String(words[0]).includes('oidc-provider')) write(...words)
  }
}

// Imported only now, because it warns while it is read as well.
const { default: Provider } = await import('oidc-provider')

/** A real OpenID provider; everyone who says who they are is believed, because that is not what is tested. */
export async function startProvider(t: TestContext, redirectUri: string) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      { client_id: 'app', client_secret: 'app-secret-app-secret-app-secret', redirect_uris: [redirectUri] },
    ],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: async () => ({ sub: id, name: 'Ada', email: `${id}@example.com`, email_verified: true }),
    }),
    cookies: { keys: ['test'] },
    features: { devInteractions: { enabled: true } },
  })
  server.on('request', provider.callback())
  return { issuer }
}
