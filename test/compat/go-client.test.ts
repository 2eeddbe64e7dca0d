import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, globSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startApi, tempDir } from '../support/api.ts'
import { createOnline } from '../support/online.ts'
import { reasonToSkip } from '../support/required-programs.ts'
import { type Body, createSample, moduleSamples, type StoredKind, samples } from '../support/samples.ts'
import { assertWalk } from './suites.ts'

const MODULE = 'github.com/ngrok/ngrok-api-go'

/** The kind of the resource that a package manages, where it is not its path. */
const KINDS: Readonly<Record<string, StoredKind>> = {
  'backends/static_address': 'backends_static',
  secrets: 'vault_secrets',
  service_users: 'bot_users',
}

/** A target under the client's names for its fields. */
const DESTINATION = { format: 'json', target: { datadog: { api_key: 'key', ddsite: 'datadoghq.com' } } }

/** The module that was `traffic_policy` before it had that name. */
const FORMER_POLICY = { enabled: false, inbound: [], outbound: [] }

/** What Adit lacks: keys of the hosted AI gateway, and the sessions and users of applications. */
const ABSENT = /^(?:ai_gateway|application_)/

/** Downloads the client and answers its packages with services that Adit has; undefined if the registry lacks it. */
function downloadClient(major: number, version: string): string[] | undefined {
  const name = `${MODULE}/v${major}@${version}`
  const { status, stdout } = spawnSync('go', ['mod', 'download', '-json', name], { encoding: 'utf8' })
  if (status !== 0) return undefined
  const { Dir: dir } = JSON.parse(stdout)
  const packages = globSync('**/client.go', { cwd: dir })
    .map((file) => dirname(file))
    .filter((path) => path !== '.' && !path.startsWith('internal') && !ABSENT.test(path))
  return packages.sort()
}

/** Builds the walk through these packages and answers the program. */
function buildWalk(dir: string, major: number, version: string, packages: readonly string[]): string {
  const root = `${MODULE}/v${major}`
  const imports = packages.map((path, index) => `\ts${index} "${root}/${path}"\n`).join('')
  const services = packages.map((path, index) => `\t\t"${path}": s${index}.NewClient(config),\n`).join('')
  writeFileSync(
    join(dir, 'services.go'),
    `package main

import (
	ngrok "${root}"
${imports})

func newServices(key, url string) map[string]any {
	config := ngrok.NewClientConfig(key, ngrok.WithBaseURL(url))
	return map[string]any{
${services}	}
}
`,
  )
  writeFileSync(join(dir, 'go.mod'), `module walk\n\ngo 1.25\n\nrequire ${root} ${version}\n`)
  copyFileSync(join(import.meta.dirname, 'walk_official.go'), join(dir, 'main.go'))
  const env = { ...process.env, GOFLAGS: '-mod=mod' }
  execFileSync('go', ['build', '-o', 'walk', '.'], { cwd: dir, env, stdio: 'pipe' })
  return join(dir, 'walk')
}

/** The bodies and ids for each package. */
async function createPlan(t: TestContext, packages: readonly string[]) {
  const online = createOnline()
  const { url, account, call } = await startApi(t, { online })
  const { session, tunnel, endpoint } = online.putOnline(account.accountId, url)
  const https = await createSample(call, 'edges_https')
  const route = await call.create(`/edges/https/${https.id}/routes`, {
    match_type: 'path_prefix',
    match: '/m',
  })
  const tls = await call.create('/edges/tls', { tls_termination: { terminate_at: 'edge' } })
  const tcp = await call.create('/edges/tcp', {})
  const subscription = await createSample(call, 'event_subscriptions')
  const items: Record<string, Body> = {
    https_edge_route: { edge_id: https.id, id: route.id },
    https_edge: { id: https.id },
    tls_edge: { id: tls.id },
    tcp_edge: { id: tcp.id },
  }
  const source = { subscription_id: subscription.id, type: 'ip_policy_deleted.v0' }
  const services = []
  for (const path of packages) {
    const [, scope = '', module = ''] = /^edge_modules\/(https_edge_route|\w+?_edge)_(\w+)$/.exec(path) ?? []
    const kind = (KINDS[path] ?? path.replace('/', '_')) as StoredKind
    const sample = samples[kind]
    if (module !== '') {
      const { terminate_at, ...settings } = (
        module === 'policy' ? FORMER_POLICY : await moduleSamples[module]!(call)
      ) as Body
      const terminates = scope === 'tls_edge' && terminate_at !== undefined
      services.push({
        package: path,
        item: items[scope],
        module: { ...settings, ...(terminates && { terminate_at }) },
      })
    } else if (path === 'event_sources')
      services.push({ package: path, item: source, create: source, update: source })
    else if (path === 'event_destinations')
      services.push({ package: path, item: {}, create: DESTINATION, update: DESTINATION })
    else if (path === 'tunnel_sessions' || path === 'tunnels')
      services.push({ package: path, item: { id: path === 'tunnels' ? tunnel : session }, update: {} })
    else {
      assert.ok(sample, `${path}: there is no such resource`)
      // Older versions read endpoints and cannot create them.
      const item = path === 'endpoints' ? { id: endpoint } : ((await sample.parents?.(call)) ?? {})
      services.push({
        ...{ package: path, item, create: { ...item, ...(await sample.create(call)) } },
        update: (await sample.update?.(call)) ?? {},
      })
    }
  }
  return { base_url: url, api_key: account.apiKey.reveal(), services }
}

for (const [major, version] of [
  [5, 'v5.4.1'],
  [6, 'v6.1.0'],
  [7, 'v7.8.0'],
  [8, 'v8.0.0'],
  [9, 'v9.0.0'],
] as const)
  test(`the official Go client ${version} calls every method and decodes the answers`, {
    skip: reasonToSkip('go'),
  }, async (t) => {
    const dir = await tempDir(t)
    const packages = downloadClient(major, version)
    if (packages === undefined) return t.skip(`the registry that GOPROXY names lacks ${version}`)
    const program = buildWalk(dir, major, version, packages)
    await assertWalk(t, [program], await createPlan(t, packages))
  })
