import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTestCertificates } from '../../src/edge/testing/certificates.ts'
import { listen } from '../support/local-server.ts'
import { eventuallyStatus, startPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { createAppRoute } from './protected-route.ts'

test('visitors sign in at a provider whose authority the operator trusts, and the page says when it is not trusted', async (t) => {
  const { ca, issue } = await createTestCertificates('localhost')
  const { certificatePem, privateKeyPem } = await issue('localhost')
  const server = createServer({ cert: certificatePem, key: privateKeyPem.reveal() }, (_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
      }),
    )
  })
  const issuer = `https://localhost:${await listen(t, server)}`
  const file = join(createTempDir(), 'authority.pem')
  await writeFile(file, ca)

  async function open(flags: string[]) {
    const platform = await startPlatform(t, ['--outbound-allow', 'localhost', ...flags])
    const oidc = { issuer, client_id: 'app', client_secret: 'secret' }
    await createAppRoute(platform, 1, { oidc })
    const url = `https://app.adit.localhost:${new URL(platform.credentials.https_url).port}`
    const status = flags.length > 0 ? 302 : 500
    await eventuallyStatus(platform, url, status)
    const response = await platform.fetch(url, { redirect: 'manual', headers: { accept: 'text/html' } })
    await platform.stop()
    return { location: response.headers.get('location'), text: await response.text() }
  }

  assert.match((await open(['--outbound-ca', file])).location ?? '', new RegExp(`^${issuer}/auth\\?`))
  assert.match((await open([])).text, /--outbound-ca/)
})

test('a file without certificates fails the start with a sentence', async (t) => {
  const file = join(createTempDir(), 'authority.pem')
  await writeFile(file, 'hello')

  await assert.rejects(
    startPlatform(t, ['--outbound-ca', file]),
    /--outbound-ca: .* holds no certificate in PEM/,
  )
})
