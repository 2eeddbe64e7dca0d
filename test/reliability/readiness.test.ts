import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fetchHost, startAgent } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform } from '../support/platform.ts'
import { startPostgres } from '../support/postgres.ts'

/** Asks a probe; returns the status and the body in one line. */
async function probe(apiUrl: string, query = ''): Promise<string> {
  const response = await fetch(`${apiUrl}/readyz${query}`)
  return `${response.status} ${await response.text()}`
}

test('without its database a node that serves is ready, and not so when asked strictly', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.dispose())
  const { credentials } = await startPlatform(t, ['--database-url', postgres.url])
  const { api_url } = credentials
  assert.equal(await probe(api_url), '200 {"status":"ready","database":"available"}')
  assert.equal(await probe(api_url, '?strict'), '200 {"status":"ready","database":"available"}')

  await postgres.stop()

  assert.match(await probe(api_url, '?strict'), /^503 .*"reason":"The PostgreSQL database cannot be used/)
  await eventually(
    async () => (await probe(api_url)) === '200 {"status":"ready","database":"unavailable"}',
    'the node says that it serves without the database',
  )
  await postgres.start()
  await eventually(async () => (await probe(api_url, '?strict')).startsWith('200'), 'all is well')
  await eventually(async () => (await probe(api_url)).includes('"available"'), 'the node says so')
})

test('without its database a node that serves the API alone is not ready', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.dispose())
  const { credentials } = await startPlatform(t, ['--database-url', postgres.url, '--roles', 'api,jobs'])

  await postgres.stop()

  await eventually(
    async () => (await probe(credentials.api_url)).startsWith('503 {"status":"not ready"'),
    'it is not ready',
  )
})

test('a balancer may ask the public HTTP port where the operator says so, and endpoints keep the path', async (t) => {
  const silent = await startPlatform(t)
  const platform = await startPlatform(t, ['--public-readyz', 'true'])
  const local = await startHttp(t, ({ url }, response) => response.end(`service ${url}`))
  const agent = await startAgent(t, platform)
  await agent.forward({ addr: local, url: 'http://app.adit.localhost' })

  assert.deepEqual(await fetchHost(platform, '10.0.0.7', '/readyz'), {
    status: 200,
    body: '{"status":"ready","database":"available"}',
  })
  assert.equal((await fetchHost(platform, '10.0.0.7', '/readyz/more')).status, 404)
  assert.equal((await fetchHost(platform, 'app.adit.localhost', '/readyz')).body, 'service /readyz')
  assert.equal((await fetchHost(silent, '10.0.0.7', '/readyz')).status, 404)
})
