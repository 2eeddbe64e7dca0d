import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { parse } from 'yaml'
import { systemClock } from '../../src/base/values/clock.ts'
import { type ClientAuthority, createClientAuthority } from '../../src/edge/testing/client-certificates.ts'
import { checkPolicy } from '../../src/policy-cli/check.ts'
import { importIpData } from '../../src/server/ip-data.ts'
import { openIpDataFiles } from '../../src/store/index.ts'
import { captureOutput } from '../support/capture-output.ts'
import { eventuallyEqual } from '../support/eventually.ts'
import { sendHttps, type TestRequest } from '../support/https-client.ts'
import { writeMmdb } from '../support/mmdb-writer.ts'
import { openStoreOf } from '../support/open-store.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTempDir } from '../support/temp-dir.ts'

/** What differs between a server with and one without data about addresses. */
type Either<T> = T | { readonly with?: T; readonly without?: T }

type Data = 'with' | 'without'

/** A request, and what the visitor gets: a status, 0 for a closed connection. */
interface Visit {
  readonly method?: string
  readonly path?: string
  readonly send?: Record<string, string>
  readonly sends?: string
  readonly from?: string
  readonly certificate?: string
  readonly gets?: number
  readonly with?: number
  readonly without?: number
  readonly body?: Either<string>
  readonly headers?: Readonly<Record<string, Either<string>>>
}

/** A policy as people write it. `mistakes` and `warnings` are what `adit policy check` says, as patterns. */
interface Case {
  readonly name: string
  readonly policy: string
  readonly mistakes?: Either<readonly string[]>
  readonly warnings?: Either<readonly string[]>
  readonly visits: readonly Visit[]
}

const DIRECTORY = join(import.meta.dirname, 'corpus')
const cases = readdirSync(DIRECTORY)
  .toSorted()
  .flatMap((file) => parse(readFileSync(join(DIRECTORY, file), 'utf8')) as Case[])

const isEither = <T>(value: Either<T>): value is { readonly with?: T; readonly without?: T } =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, 'with') || Object.hasOwn(value, 'without'))

const choose = <T>(value: Either<T> | undefined, data: Data): T | undefined =>
  value !== undefined && isEither(value) ? value[data] : value

const country = { iso_code: 'DE', is_in_european_union: true, names: { en: 'Germany' } }
const files = {
  'places.mmdb': writeMmdb([
    [
      '127.0.0.0/8',
      {
        country,
        city: { names: { en: 'Berlin' } },
        autonomous_system_number: 64_500,
        autonomous_system_organization: 'Example Net',
      },
    ],
  ]),
  'lists.txt': Buffer.from(
    '127.0.0.1/32 com.github.hooks\n127.0.0.9/32 blocklist.test\n127.0.0.9/32 proxy.anonymous.tor\n',
  ),
}

let authority: ClientAuthority
before(async () => {
  authority = await createClientAuthority('authority')
})

const textOf = ({ policy }: Case) => policy.replaceAll('CA_PEM', JSON.stringify(authority.ca))

/** What `adit policy check` prints for the policy as it is written. */
function check(entry: Case, data: Data) {
  const directory = createTempDir()
  const ipData = Object.entries(data === 'with' ? files : {}).map(([name, bytes]) => {
    writeFileSync(join(directory, name), bytes)
    return join(directory, name)
  })
  const file = join(directory, 'policy.yml')
  writeFileSync(file, textOf(entry))
  const terminal = captureOutput()
  const code = checkPolicy(file, { edge: false, json: true, ipData }, terminal)
  const { issues, warnings } = JSON.parse(terminal.written.out) as Record<string, { text: string }[]>
  return {
    code,
    mistakes: issues!.map(({ text }) => text),
    warnings: (warnings ?? []).map(({ text }) => text),
  }
}

function assertSays(lines: readonly string[], patterns: readonly string[], what: string): void {
  assert.equal(lines.length, patterns.length, `${what}: ${lines.join('; ')}`)
  for (const pattern of patterns)
    assert.ok(
      lines.some((line) => new RegExp(pattern).test(line)),
      `${what}: ${lines.join('; ')} (${pattern})`,
    )
}

/** A cloud endpoint for each policy, which forwards what the policy lets pass to an endpoint that shows it. */
async function createEndpoints({ call }: TestPlatform): Promise<readonly string[]> {
  await call.create('/endpoints', {
    url: 'https://app.internal',
    traffic_policy: JSON.stringify({
      on_http_request: [
        {
          actions: [
            {
              type: 'custom-response',
              // biome-ignore lint/suspicious/noTemplateCurlyInString: the policy's own placeholders.
              config: { body: '${req.method} ${req.url.path} ${req.headers.encodeJson()}' },
            },
          ],
        },
      ],
    }),
  })
  const rest = { actions: [{ type: 'forward-internal', config: { url: 'https://app.internal' } }] }
  return Promise.all(
    cases.map(async (entry, index) => {
      const host = `case${index}.adit.localhost`
      await call.create('/reserved_domains', { domain: host })
      const { on_http_request: rules = [], Inbound: older = [], ...others } = parse(textOf(entry))
      const policy = { ...others, on_http_request: [...rules, ...older, rest] }
      await call.create('/endpoints', { url: `https://${host}`, traffic_policy: JSON.stringify(policy) })
      return host
    }),
  )
}

async function importFiles({ dataDir, databaseUrl }: TestPlatform): Promise<void> {
  const store = await openStoreOf({ dataDir, databaseUrl })
  for (const [path, bytes] of Object.entries(files))
    await importIpData(openIpDataFiles(store), { path, bytes, category: undefined }, systemClock)
  await store.close()
}

for (const data of ['without', 'with'] as const)
  describe(`policies as people write them, ${data} IP data`, () => {
    let hosts: readonly string[]
    let ask: (request: TestRequest) => ReturnType<typeof sendHttps>

    // One platform serves all of them.
    test('a platform serves every policy of the corpus', async (t) => {
      assert.ok(cases.length >= 60)
      let platform = await startPlatform(t)
      await platform.stop()
      if (data === 'with') await importFiles(platform)
      platform = await startPlatform(t, [], platform.dataDir)
      const port = Number(new URL(platform.credentials.https_url).port)
      ask = (request) => sendHttps(port, platform.caPem, request)
      hosts = await createEndpoints(platform)
      for (const host of hosts)
        await eventuallyEqual(async () => {
          const { headers } = await ask({ host })
          return headers['adit-error-code'] === 'ERR_ADIT_3200'
        }, false)

      for (const [index, entry] of cases.entries())
        await t.test(entry.name, async () => {
          const said = check(entry, data)
          const mistakes = choose(entry.mistakes, data) ?? []
          assertSays(said.mistakes, mistakes, 'mistakes')
          assertSays(said.warnings, choose(entry.warnings, data) ?? [], 'warnings')
          assert.equal(said.code, mistakes.length === 0 ? 0 : 1)
          for (const visit of entry.visits) await pay(visit, hosts[index]!)
        })
    })

    async function pay(visit: Visit, host: string): Promise<void> {
      const { method = 'GET', path = '/', send = {}, sends, from, certificate } = visit
      const response = await ask({
        host,
        method,
        path,
        headers: send,
        ...(sends !== undefined && { body: sends }),
        ...(from !== undefined && { from }),
        ...(certificate !== undefined && {
          tls: await authority.issue(certificate, { dns: [`${certificate}.example`] }),
        }),
      })
      const what = `${JSON.stringify(visit)}: ${response.text} ${response.error}`
      assert.equal(response.status, visit.gets ?? visit[data], what)
      const body = choose(visit.body, data)
      if (body !== undefined) assert.match(response.text, new RegExp(body), what)
      for (const [name, expected] of Object.entries(visit.headers ?? {})) {
        const pattern = choose(expected, data)
        if (pattern !== undefined)
          assert.match(String(response.headers[name] ?? ''), new RegExp(pattern), what)
      }
    }
  })
