import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorPage, HttpsEdge, ReservedDomain } from '../../resources/index.ts'
import { TestConfiguration } from '../testing/configuration.ts'
import { HOST, startHttpsEdge } from '../testing/https-edge.ts'

const BROWSER = { accept: 'text/html,*/*' }

test('the most specific page of the account replaces the error page of the platform', async (t) => {
  const { config, tunnels, sendRequest } = await startHttpsEdge(t)
  tunnels.tunnels.length = 0
  const showPage = async () => {
    await config.waitUntilApplied()
    return (await sendRequest({ headers: BROWSER })).text
  }

  assert.match(await showPage(), /This site is offline/)
  const all = config.create(ErrorPage, { status: 'all', html: 'every error' })
  assert.equal(await showPage(), 'every error')
  config.create(ErrorPage, { status: '5xx', html: 'server errors' })
  assert.equal(await showPage(), 'server errors')
  const exact = config.create(ErrorPage, { status: '503', html: 'one status' })
  assert.equal(await showPage(), 'one status')
  config.update(exact, { html: 'changed' })
  assert.equal(await showPage(), 'changed')
  config.update(exact, { status: '404' })
  config.remove(all)
  assert.equal(await showPage(), 'server errors')
})

test('placeholders are replaced by escaped text, and the page can run and load nothing', async (t) => {
  const { config, tunnels, sendRequest } = await startHttpsEdge(t)
  tunnels.tunnels.length = 0
  config.create(ErrorPage, {
    status: 'all',
    html: '{{status}}|{{code}}|{{host}}|{{title}}|{{message}}|{{next_step}}|{{owner_step}}|{{status}} {{ }}',
  })
  await config.waitUntilApplied()

  const { status, headers, text } = await sendRequest({ headers: BROWSER })

  assert.equal(status, 503)
  assert.equal(headers['adit-error-code'], 'ERR_ADIT_6528')
  assert.equal(
    text,
    `503|ERR_ADIT_6528|${HOST}|This site is offline|No backend of ${HOST} is online.|Try again later.|` +
      'Start an agent with the labels of the backend, or change the backend.|503 {{ }}',
  )
  assert.equal(
    headers['content-security-policy'],
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; " +
      "form-action 'none'; frame-ancestors 'none'",
  )
})

test('programs get no page', async (t) => {
  const { config, tunnels, sendRequest } = await startHttpsEdge(t)
  tunnels.tunnels.length = 0
  config.create(ErrorPage, { status: 'all', html: 'page' })
  await config.waitUntilApplied()

  assert.match((await sendRequest({ headers: { accept: 'application/json' } })).text, /"error_code"/)
  assert.match((await sendRequest()).text, /^No backend of/)
})

test('a name that its account has reserved shows the page of the account while no agent serves it', async (t) => {
  const { config, sendRequest } = await startHttpsEdge(t)
  config.create(ReservedDomain, { domain: 'offline.adit.localhost' })
  config.create(ReservedDomain, { domain: '*.wild.adit.localhost' })
  config.create(ErrorPage, { status: '404', html: 'ours' })
  await config.waitUntilApplied()
  const pageOf = async (host: string) =>
    (await sendRequest({ host, servername: HOST, headers: BROWSER })).text

  assert.equal(await pageOf('offline.adit.localhost'), 'ours')
  assert.equal(await pageOf('a.wild.adit.localhost'), 'ours')
  assert.match(await pageOf('unreserved.adit.localhost'), /Nothing is online at this address/)
})

test('the page of one account is never served on the host of another', async (t) => {
  const { edge, config, tunnels, sendRequest } = await startHttpsEdge(t)
  tunnels.tunnels.length = 0
  const other = new TestConfiguration(edge, 'ac_other')
  other.create(ErrorPage, { status: 'all', html: 'theirs' })
  other.create(HttpsEdge, { hostports: ['other.adit.localhost:443'] })
  await config.waitUntilApplied()

  assert.match((await sendRequest({ headers: BROWSER })).text, /This site is offline/)
  assert.equal((await sendRequest({ host: 'other.adit.localhost', headers: BROWSER })).text, 'theirs')
})
