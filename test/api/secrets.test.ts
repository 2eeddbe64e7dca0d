import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { type ApiClient, createClient, tempDir } from '../support/api.ts'
import { freshDatabase } from '../support/postgres.ts'
import { createRandom } from '../support/random.ts'
import { type Body, certificates } from '../support/samples.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'

const adit = join(import.meta.dirname, '..', '..', 'bin', 'adit')
const run = promisify(execFile)
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'

/** Secrets put into a server, with everything it has answered along the way. */
class Planting {
  readonly #random = createRandom()
  readonly call: ApiClient
  readonly canaries: string[] = []
  /** Answers that must not hold any of them. */
  readonly refusals: string[] = []
  /** Not a secret: shows that the search finds what is there. */
  readonly control = this.#word()

  constructor(server: ServerProcess) {
    this.call = createClient(server.url, server.apiKey)
  }

  #word(): string {
    return Array.from({ length: 32 }, () => this.#random.pick([...LETTERS])).join('')
  }

  canary(): string {
    const word = this.#word()
    this.canaries.push(word)
    return word
  }

  /** The same request spoiled in ways that make the API complain about it. */
  async refused(method: string, path: string, body: Body): Promise<void> {
    const spoiled: Parameters<ApiClient>[2][] = [
      { body: { ...body, no_such: 1 } },
      { raw: `${JSON.stringify(body)}x` },
      { raw: JSON.stringify(body).slice(0, -1) },
      { raw: JSON.stringify(body), headers: { 'content-type': 'text/plain' } },
      { body, headers: { 'ngrok-version': '3' } },
    ]
    for (const options of spoiled) {
      const answer = await this.call(method, path, options)
      assert.ok(answer.status >= 400 && answer.status < 500, JSON.stringify(answer.body))
      this.refusals.push(JSON.stringify(answer.body))
    }
  }
}

async function plantTokens(planting: Planting): Promise<void> {
  const { call } = planting
  for (const path of ['/api_keys', '/credentials'])
    for (let count = 0; count < 30; count++) {
      const { id, token } = await call.create(path, {})
      planting.canaries.push(token.split('_')[1])
      if (count % 10 === 0) await call('GET', path, { key: token })
      if (count % 7 === 0) await call('DELETE', `${path}/${id}`)
      const wrong = await call('GET', '/api_keys', { key: `${token.slice(0, -1)}!` })
      planting.refusals.push(JSON.stringify(wrong.body))
    }
}

async function plantModules(planting: Planting): Promise<void> {
  const { call } = planting
  const edge = await call.create('/edges/https', { metadata: planting.control })
  for (let count = 0; count < 7; count++) {
    const routes = `/edges/https/${edge.id}/routes`
    const secrets = {
      oidc: { issuer: 'https://id.example.com', client_id: 'me', client_secret: planting.canary() },
      webhook_verification: { provider: 'github', secret: planting.canary() },
    }
    const route = { match_type: 'path_prefix', match: `/${count}`, ...secrets }
    const { id } = await call.create(routes, route)
    await planting.refused('POST', routes, route)
    await planting.refused('PUT', `${routes}/${id}/oidc`, secrets.oidc)
    const github = { client_id: 'me', client_secret: planting.canary() }
    await planting.refused('PUT', `${routes}/${id}/oauth`, { provider: { github } })
    const both = await call('PUT', `${routes}/${id}/oauth`, { body: { provider: { github } } })
    assert.equal(both.status, 400, 'two log-ins')
    planting.refusals.push(JSON.stringify(both.body))
    await call('PUT', `${routes}/${id}/oauth`, { body: { enabled: false, provider: { github } } })
    if (count % 3 === 0) await call('DELETE', `${routes}/${id}`)
  }
}

async function plantDestinations(planting: Planting): Promise<void> {
  const { call } = planting
  for (let count = 0; count < 6; count++) {
    const creds = { cloud_access_key_id: 'AKIA', cloud_secret_access_key: planting.canary() }
    const arn = 'arn:aws:kinesis:us-east-1:123456789012:stream/x'
    for (const target of [
      { kinesis: { auth: { creds }, stream_arn: arn } },
      { monitoring: { api_key: planting.canary() } },
      { webhook: { url: 'https://example.com/hook', secret: planting.canary() } },
    ]) {
      const made = await call.create('/event_destinations', { target })
      // These are never shown, not even to their owner.
      planting.refusals.push(JSON.stringify(made))
      planting.refusals.push(JSON.stringify((await call('GET', '/event_destinations')).body))
      await planting.refused('POST', '/event_destinations', { target })
      await planting.refused('PATCH', `/event_destinations/${made.id}`, { target })
    }
  }
}

async function plantKeys(planting: Planting): Promise<void> {
  const { call } = planting
  const { ca } = await certificates()
  const leaf = await ca.issue('secret.example.com')
  const body = { certificate_pem: leaf.cert, private_key_pem: leaf.key }
  planting.canaries.push(leaf.key.split('\n')[1]!)
  planting.refusals.push(JSON.stringify(await call.create('/tls_certificates', body)))
  await planting.refused('POST', '/tls_certificates', body)
  const swapped = { certificate_pem: leaf.key, private_key_pem: leaf.cert }
  planting.refusals.push(JSON.stringify((await call('POST', '/tls_certificates', { body: swapped })).body))
  for (const private_key_type of ['rsa', 'ecdsa', 'ed25519'])
    await call.create('/ssh_certificate_authorities', { private_key_type })
}

/** Every file below a directory, as bytes. */
async function filesBelow(dir: string, skip: RegExp): Promise<[name: string, bytes: Buffer][]> {
  const files: [string, Buffer][] = []
  for (const entry of await readdir(dir, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !skip.test(path)) files.push([path, await readFile(path)])
  }
  return files
}

async function everyAuditEvent(call: ApiClient): Promise<string> {
  const pages: string[] = []
  for (let uri = '/audit_events'; uri !== null; ) {
    const { body } = await call('GET', uri)
    pages.push(JSON.stringify(body))
    uri = body.next_page_uri
  }
  return pages.join('\n')
}

async function check(t: TestContext, flags: string[], databaseDir: string | undefined): Promise<void> {
  const dataDir = await tempDir(t)
  const server = await startServerProcess(t, dataDir, ['--log-level', 'debug', ...flags])
  const planting = new Planting(server)
  await plantTokens(planting)
  await plantModules(planting)
  await plantDestinations(planting)
  await plantKeys(planting)
  assert.ok(planting.canaries.length >= 100, `${planting.canaries.length} canaries`)

  const audit = await everyAuditEvent(planting.call)
  const metrics = await planting.call('GET', '/metrics')
  const backup = join(await tempDir(t), 'backup.db')
  await run(adit, ['server', 'backup', backup, '--data-dir', dataDir, ...flags])
  const proc = (name: string) => readFile(`/proc/${server.pid}/${name}`, 'latin1')
  const places: [string, string | Buffer][] = [
    ['the audit log', audit],
    ['the metrics', metrics.body],
    ['what refusals say', planting.refusals.join('\n')],
    ['the process list', `${await proc('cmdline')}${await proc('environ')}`],
    ['the backup', await readFile(backup)],
    ...(await filesBelow(dataDir, /credentials\.json$/)),
    ...(databaseDir === undefined ? [] : await filesBelow(databaseDir, /pg_internal\.init$|postmaster/)),
  ]
  await server.stop()
  places.push(['the log', server.said()])
  places.push(...(await filesBelow(dataDir, /credentials\.json$/)))

  for (const [place, content] of places) {
    for (const canary of planting.canaries)
      assert.ok(!content.includes(canary), `${place} holds the secret ${canary}`)
    // The root key of the platform stands in a file of its own, made for that.
    if (!/\.(key|pem)$/.test(place)) assert.ok(!content.includes('PRIVATE KEY-----'), `${place} holds a key`)
  }
  const holding = places.filter(([, content]) => content.includes(planting.control)).map(([place]) => place)
  assert.ok(holding.includes('the backup'), 'the search finds what is there')
  assert.ok(
    holding.some((place) => place.startsWith(databaseDir ?? dataDir)),
    `the search finds what is there: ${holding}`,
  )
  for (const [content, word] of [
    [audit, 'api_keys'],
    [metrics.body, 'adit_api_calls_total'],
    [server.said(), '"operation":"api_keys.create"'],
  ])
    assert.ok(content.includes(word), `${word} was looked for in what was really written`)
}

test('100 secrets appear in no file, log, backup, metric, audit record or refusal, on SQLite (P41-P43)', (t) =>
  check(t, [], undefined))

test('100 secrets appear in no file, log, backup, metric, audit record or refusal, on PostgreSQL (P41-P43)', async (t) => {
  const { url, dataDir } = await freshDatabase(t)
  await check(t, ['--database-url', url], dataDir)
})
