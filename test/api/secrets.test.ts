import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { ADIT } from '../support/adit-program.ts'
import { type ApiClient, createClient } from '../support/api.ts'
import { createTestDatabase } from '../support/postgres.ts'
import { createRandom } from '../support/random.ts'
import { type Body, certificates } from '../support/samples.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { createTempDir } from '../support/temp-dir.ts'

const run = promisify(execFile)
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

/** Secrets written to a server, and the responses that must not contain them. */
class SecretCanaries {
  readonly #random = createRandom()
  readonly call: ApiClient
  readonly values: string[] = []
  /** Responses that must not contain any of the secrets. */
  readonly rejections: string[] = []
  /** Not a secret: proves that the search finds stored values. */
  readonly control = this.#randomWord()

  constructor(server: ServerProcess) {
    this.call = createClient(server.url, server.apiKey)
  }

  #randomWord(): string {
    return Array.from({ length: 32 }, () => this.#random.pick([...LETTERS])).join('')
  }

  create(): string {
    const word = this.#randomWord()
    this.values.push(word)
    return word
  }

  /** Sends invalid variants of a request and records the error responses. */
  async expectRejections(method: string, path: string, body: Body): Promise<void> {
    const invalid: Parameters<ApiClient>[2][] = [
      { body: { ...body, no_such: 1 } },
      { raw: `${JSON.stringify(body)}x` },
      { raw: JSON.stringify(body).slice(0, -1) },
      { raw: JSON.stringify(body), headers: { 'content-type': 'text/plain' } },
      { body, headers: { 'ngrok-version': '3' } },
    ]
    for (const options of invalid) {
      const response = await this.call(method, path, options)
      assert.ok(response.status >= 400 && response.status < 500, JSON.stringify(response.body))
      this.rejections.push(JSON.stringify(response.body))
    }
  }
}

async function plantTokens(canaries: SecretCanaries): Promise<void> {
  const { call } = canaries
  for (const path of ['/api_keys', '/credentials'])
    for (let count = 0; count < 30; count++) {
      const { id, token } = await call.create(path, {})
      canaries.values.push(token.split('_')[1])
      if (count % 10 === 0) await call('GET', path, { key: token })
      if (count % 7 === 0) await call('DELETE', `${path}/${id}`)
      const response = await call('GET', '/api_keys', { key: `${token.slice(0, -1)}!` })
      canaries.rejections.push(JSON.stringify(response.body))
    }
}

async function plantModules(canaries: SecretCanaries): Promise<void> {
  const { call } = canaries
  const edge = await call.create('/edges/https', { metadata: canaries.control })
  for (let count = 0; count < 7; count++) {
    const routes = `/edges/https/${edge.id}/routes`
    const secrets = {
      oidc: { issuer: 'https://id.example.com', client_id: 'me', client_secret: canaries.create() },
      webhook_verification: { provider: 'github', secret: canaries.create() },
    }
    const route = { match_type: 'path_prefix', match: `/${count}`, ...secrets }
    const { id } = await call.create(routes, route)
    await canaries.expectRejections('POST', routes, route)
    await canaries.expectRejections('PUT', `${routes}/${id}/oidc`, secrets.oidc)
    const github = { client_id: 'me', client_secret: canaries.create() }
    await canaries.expectRejections('PUT', `${routes}/${id}/oauth`, { provider: { github } })
    const response = await call('PUT', `${routes}/${id}/oauth`, { body: { provider: { github } } })
    assert.equal(response.status, 400, 'two log-ins')
    canaries.rejections.push(JSON.stringify(response.body))
    await call('PUT', `${routes}/${id}/oauth`, { body: { enabled: false, provider: { github } } })
    if (count % 3 === 0) await call('DELETE', `${routes}/${id}`)
  }
}

async function plantDestinations(canaries: SecretCanaries): Promise<void> {
  const { call } = canaries
  for (let count = 0; count < 6; count++) {
    const creds = { cloud_access_key_id: 'AKIA', cloud_secret_access_key: canaries.create() }
    const arn = 'arn:aws:kinesis:us-east-1:123456789012:stream/x'
    for (const target of [
      { kinesis: { auth: { creds }, stream_arn: arn } },
      { monitoring: { api_key: canaries.create() } },
      { webhook: { url: 'https://example.com/hook', secret: canaries.create() } },
    ]) {
      const created = await call.create('/event_destinations', { target })
      // These secrets are never shown, not even to their owner.
      canaries.rejections.push(JSON.stringify(created))
      canaries.rejections.push(JSON.stringify((await call('GET', '/event_destinations')).body))
      await canaries.expectRejections('POST', '/event_destinations', { target })
      await canaries.expectRejections('PATCH', `/event_destinations/${created.id}`, { target })
    }
  }
}

async function plantKeys(canaries: SecretCanaries): Promise<void> {
  const { call } = canaries
  const { ca } = await certificates()
  const leaf = await ca.issue('secret.example.com')
  const body = { certificate_pem: leaf.cert, private_key_pem: leaf.key }
  canaries.values.push(leaf.key.split('\n')[1]!)
  canaries.rejections.push(JSON.stringify(await call.create('/tls_certificates', body)))
  await canaries.expectRejections('POST', '/tls_certificates', body)
  const swapped = { certificate_pem: leaf.key, private_key_pem: leaf.cert }
  canaries.rejections.push(JSON.stringify((await call('POST', '/tls_certificates', { body: swapped })).body))
  for (const private_key_type of ['rsa', 'ecdsa', 'ed25519'])
    await call.create('/ssh_certificate_authorities', { private_key_type })
}

/** Every file below a directory, as bytes. Other tests drop their databases meanwhile: what is gone holds nothing. */
async function readFiles(dir: string, skip: RegExp): Promise<[name: string, bytes: Buffer][]> {
  const entries = await unlessGone(readdir(dir, { withFileTypes: true }))
  const files = (entries ?? []).map(async (entry): Promise<[string, Buffer][]> => {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) return readFiles(path, skip)
    const bytes = entry.isFile() && !skip.test(path) ? await unlessGone(readFile(path)) : undefined
    return bytes === undefined ? [] : [[path, bytes]]
  })
  return (await Promise.all(files)).flat()
}

function unlessGone<T>(result: Promise<T>): Promise<T | undefined> {
  return result.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

async function readAuditEvents(call: ApiClient): Promise<string> {
  const pages: string[] = []
  for (let uri = '/audit_events'; uri !== null; ) {
    const { body } = await call('GET', uri)
    pages.push(JSON.stringify(body))
    uri = body.next_page_uri
  }
  return pages.join('\n')
}

async function checkNoSecrets(
  t: TestContext,
  flags: string[],
  databaseDir: string | undefined,
): Promise<void> {
  const dataDir = createTempDir()
  const server = await startServerProcess(t, dataDir, ['--log-level', 'debug', ...flags])
  const canaries = new SecretCanaries(server)
  await plantTokens(canaries)
  await plantModules(canaries)
  await plantDestinations(canaries)
  await plantKeys(canaries)
  assert.ok(canaries.values.length >= 100, `${canaries.values.length} canaries`)

  const audit = await readAuditEvents(canaries.call)
  const metrics = await canaries.call('GET', '/metrics')
  const backup = join(createTempDir(), 'backup.db')
  await run(ADIT, ['server', 'backup', backup, '--data-dir', dataDir, ...flags])
  const readProc = (name: string) => readFile(`/proc/${server.pid}/${name}`, 'latin1')
  const contents: [string, string | Buffer][] = [
    ['the audit log', audit],
    ['the metrics', metrics.body],
    ['what rejections say', canaries.rejections.join('\n')],
    ['the process list', `${await readProc('cmdline')}${await readProc('environ')}`],
    ['the backup', await readFile(backup)],
    ...(await readFiles(dataDir, /credentials\.json$/)),
    ...(databaseDir === undefined ? [] : await readFiles(databaseDir, /pg_internal\.init$|postmaster/)),
  ]
  await server.stop()
  contents.push(['the log', server.output()])
  contents.push(...(await readFiles(dataDir, /credentials\.json$/)))

  for (const [source, content] of contents) {
    for (const canary of canaries.values)
      assert.ok(!content.includes(canary), `${source} holds the secret ${canary}`)
    // The private key of the platform root is stored in a dedicated file.
    if (!/\.(key|pem)$/.test(source))
      assert.ok(!content.includes('PRIVATE KEY-----'), `${source} holds a key`)
  }
  const matchingSources = contents
    .filter(([, content]) => content.includes(canaries.control))
    .map(([source]) => source)
  assert.ok(matchingSources.includes('the backup'), 'the search finds what is there')
  assert.ok(
    matchingSources.some((source) => source.startsWith(databaseDir ?? dataDir)),
    `the search finds what is there: ${matchingSources}`,
  )
  for (const [content, word] of [
    [audit, 'api_keys'],
    [metrics.body, 'adit_api_calls_total'],
    [server.output(), '"operation":"api_keys.create"'],
  ])
    assert.ok(content.includes(word), `${word} was looked for in what was really written`)
}

test('100 secrets appear in no file, log, backup, metric, audit record or error response, on SQLite (P41-P43)', (t) =>
  checkNoSecrets(t, [], undefined))

test('100 secrets appear in no file, log, backup, metric, audit record or error response, on PostgreSQL (P41-P43)', async (t) => {
  const { url, dataDir } = await createTestDatabase(t)
  await checkNoSecrets(t, ['--database-url', url], dataDir)
})
