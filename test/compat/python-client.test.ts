import { join } from 'node:path'
import { test } from 'node:test'
import { shareApi, tempDir } from '../support/api.ts'
import { reasonToSkip } from '../support/required-programs.ts'
import { type StoredKind, samples } from '../support/samples.ts'
import { assertWalk, createVenv } from './suites.ts'

const skip = reasonToSkip('python3')

/** The client's service for a kind, where it is not an attribute of the same name. */
const NESTED: Partial<Record<StoredKind, readonly string[]>> = {
  backends_failover: ['backends', 'failover'],
  backends_http_response: ['backends', 'http_response'],
  backends_static: ['backends', 'static_address'],
  backends_tunnel_group: ['backends', 'tunnel_group'],
  backends_weighted: ['backends', 'weighted'],
  edges_https: ['edges', 'https'],
  edges_tcp: ['edges', 'tcp'],
  edges_tls: ['edges', 'tls'],
  vault_secrets: ['secrets'],
}
/** Resources without a service in the client, and routes, whose path needs their edge. */
const ABSENT: readonly StoredKind[] = [
  'edges_https_routes',
  'endpoint_configurations',
  'error_pages',
  'kubernetes_operators',
  'users',
]
const KINDS = (Object.keys(samples) as StoredKind[]).filter((kind) => !ABSENT.includes(kind))

test('the official Python client manages every resource and decodes the answers', { skip }, async (t) => {
  const { fresh } = await shareApi()
  const { url, account, call } = await fresh()
  const python = createVenv(await tempDir(t), ['ngrok-api==0.19.0'])
  const services = []
  for (const kind of KINDS)
    services.push({
      path: NESTED[kind] ?? [kind],
      create: await samples[kind].create(call),
      update: (await samples[kind].update?.(call)) ?? {},
    })
  const plan = { api_key: account.apiKey.reveal(), base_url: url, services }
  await assertWalk(t, [python, join(import.meta.dirname, 'walk_api.py')], plan)
})
