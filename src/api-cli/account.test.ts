import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { shareApi, type TestApi } from '../../test/support/api.ts'
import { startHttp } from '../../test/support/local-server.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { CommandFailure } from '../base/process/command-line.ts'
import { type ApplyOptions, applyAccount, exportAccount } from './account.ts'

const { fresh } = await shareApi()

/** Runs the commands on one file against an account. */
async function createAccountFile(api: TestApi) {
  const dir = createTempDir()
  const file = join(dir, 'account.yml')
  const flags = { apiUrl: api.url, apiKey: api.account.apiKey.reveal() }
  const run = async (
    work: (output: { out(text: string): void; error(text: string): void }) => Promise<number>,
  ) => {
    const printed = { out: '', errors: '' }
    const code = await work({
      out: (text) => {
        printed.out += text
      },
      error: (text) => {
        printed.errors += text
      },
    })
    return { code, ...printed }
  }
  return {
    dir,
    export: () => run((output) => exportAccount(flags, output)),
    apply(text: string, options: Partial<ApplyOptions> = {}) {
      writeFileSync(file, text)
      const all = { file, diff: false, prune: false, schema: false, ...flags, ...options }
      return run((output) => applyAccount(all, output))
    },
  }
}

test('a document is planned, applied, changed and exported', async () => {
  const account = await createAccountFile(await fresh())
  const document = (description: string) => `ip_policies:
  office:
    description: ${description}
ip_policy_rules:
  home: { ip_policy_id: office, cidr: 10.0.0.0/8, action: allow }
`
  const planned = await account.apply(document('one'), { diff: true })
  assert.deepEqual([planned.code, planned.errors], [2, ''])
  assert.equal(
    planned.out,
    `create ip_policies.office
  description: "one"
create ip_policy_rules.home
  ip_policy_id: "office"
  cidr: "10.0.0.0/8"
  action: "allow"
Plan: 2 to create, 0 to update, 0 to delete, 0 unchanged.
`,
  )
  assert.match((await account.apply(document('one'))).out, /Applied: 2 created, 0 updated, 0 deleted/)
  const changed = await account.apply(document('two'))
  assert.match(changed.out, /update ip_policies\.office\n {2}description: "one" -> "two"\n/)
  assert.equal((await account.apply(document('two'), { diff: true })).code, 0)

  const exported = await account.export()
  assert.match(exported.out, /ip_policies:\n {2}office:\n {4}description: two\n/)
  assert.equal((await account.apply(exported.out, { diff: true, prune: true })).code, 0)
  assert.match((await account.apply('{}', { prune: true })).out, /0 updated, 2 deleted/)
})

test('secrets come from the environment and from files, and are not printed', async (t) => {
  const api = await fresh()
  const account = await createAccountFile(api)
  writeFileSync(join(account.dir, 'policy.yml'), 'on_http_request: []\n')
  process.env.TEST_ACCOUNT_SECRET = 'from the environment'
  t.after(() => delete process.env.TEST_ACCOUNT_SECRET)
  const applied = await account.apply(`
edges_https:
  front: {}
backends_tunnel_group:
  web: { labels: { env: production } }
edges_https_routes:
  root:
    edge_id: front
    match_type: path_prefix
    match: /
    webhook_verification: { provider: github, secret: { env: TEST_ACCOUNT_SECRET } }
    traffic_policy: { value: { file: policy.yml } }
`)
  assert.equal(applied.code, 0, applied.errors)
  assert.match(applied.out, /webhook_verification\.secret: \(secret\)/)
  assert.doesNotMatch(applied.out, /from the environment|on_http_request/)
  const [edge] = (await api.call('GET', '/edges/https')).body.https_edges
  assert.equal(edge.routes[0].webhook_verification.secret, 'from the environment')
  assert.equal(edge.routes[0].traffic_policy.value, 'on_http_request: []\n')
  const groups = (await api.call('GET', '/backends/tunnel_group')).body.backends
  assert.deepEqual(groups[0].labels, { env: 'production' })
  assert.match(
    (await account.export()).out,
    /^# Secrets are not exported.*\n# {3}edges_https_routes\.root\.(traffic_policy|webhook)/,
  )
})

test('tokens of new credentials are printed once', async () => {
  const account = await createAccountFile(await fresh())
  const document = 'credentials: { laptop: {} }'
  assert.match((await account.apply(document)).out, /^credentials\.laptop: token \w+ \(shown only now\)$/m)
  assert.doesNotMatch((await account.apply(document)).out, /token/)
})

test('an apply that loses the server says that it may be run again', async (t) => {
  const plan = { changes: [], created: 0, updated: 0, deleted: 0, unchanged: 0, failed: 0 }
  const port = await startHttp(t, async (request, response) => {
    const { dry_run } = JSON.parse(await text(request))
    if (!dry_run) return response.destroy()
    response.setHeader('content-type', 'application/json').end(JSON.stringify(plan))
  })
  const account = await createAccountFile(await fresh())

  await assert.rejects(account.apply('ip_policies: {}\n', { apiUrl: `http://127.0.0.1:${port}` }), {
    name: 'CommandFailure',
    message: /cannot be reached.*\n.*Run the command again to continue\.$/,
  })
  await assert.rejects(
    account.apply('ip_policies: {}\n', { apiUrl: 'http://127.0.0.1:1' }),
    (error: Error) => {
      assert.doesNotMatch(error.message, /continues there/)
      return true
    },
  )
})

test('mistakes are reported with file and line', async () => {
  const account = await createAccountFile(await fresh())
  for (const [text, sentence] of [
    ['ip_policies:\n  a: {}\n  a: {}\n', /account\.yml:3: Map keys must be unique/],
    [
      'ip_policies:\n\n  a:\n    descripton: x\n',
      /account\.yml:4: There is no field "ip_policies\.a\.descripton"/,
    ],
    ['ip_policy: {}\n', /account\.yml:1: There is no field "ip_policy"/],
    ['error_pages:\n  404:\n    status: "404"\n    html: 1\n', /account\.yml:4: /],
    [
      'ip_restrictions:\n  api:\n    type: api\n    ip_policy_ids:\n      - none\n',
      /account\.yml:5: .*neither the document nor the account has "none"/,
    ],
    [
      'backends_failover:\n  a: { backends: [b] }\n  b: { backends: [a] }\n',
      /account\.yml:2: .*refers to itself/,
    ],
    [
      'credentials:\n  a:\n    description: { env: NO_SUCH_VARIABLE_HERE }\n',
      /account\.yml:3: the environment/,
    ],
    ['credentials:\n  a:\n    description: { file: none.txt }\n', /account\.yml:3: none\.txt cannot be read/],
    ['credentials:\n  a:\n    description: { other: x }\n', /account\.yml:3: .* must be a string/],
    ['- a\n', /must hold a map/],
    [`x: "${'x'.repeat(1024 * 1024)}"`, /larger than 1024 KiB/],
    [
      `a: &a [x,x,x,x]\n${[...'bcdefghijk'].map((name, n) => `${name}: &${name} [${`*${'abcdefghij'[n]},`.repeat(4)}]\n`).join('')}`,
      /larger than 1024 KiB with its aliases expanded/,
    ],
  ] as const)
    await assert.rejects(account.apply(text), (error: Error) => {
      assert.ok(error instanceof CommandFailure)
      assert.match(error.message, sentence)
      return true
    })

  const rejected = await account.apply('reserved_domains:\n  app.example.com:\n    domain: com\n')
  assert.equal(rejected.code, 1)
  assert.match(rejected.errors, /^ERROR: {2}\S+account\.yml:3: reserved_domains\.app\.example\.com: /)
})

test('the schema for editors describes every kind and where secrets may come from', async () => {
  const account = await createAccountFile(await fresh())
  const schema = JSON.parse((await account.apply('', { schema: true })).out)
  const { description } = schema.properties.ip_policies.additionalProperties.properties
  assert.deepEqual(description.anyOf[1], { $ref: '#/$defs/source' })
  assert.equal('dry_run' in schema.properties, false)
})
