import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Ajv, type ValidateFunction } from 'ajv'
import type { ApiClient, TestApi, TestResponse } from '../support/api.ts'
import { engines } from '../support/engines.ts'
import { generate, type JsonSchema } from '../support/generate.ts'
import { createOnline } from '../support/online.ts'
import { createRandom, type SeededRandom } from '../support/random.ts'
import { type Body, createSample, type StoredKind, samples } from '../support/samples.ts'

interface Operation {
  operationId: string
  tags: [string]
  parameters: { name: string; in: string }[]
  requestBody?: { content: { 'application/json': { schema: JsonSchema } } }
  responses: Record<string, { content?: { 'application/json': { schema: JsonSchema } } }>
}

/** An operation of the OpenAPI document with its method and path. */
interface ApiOperation extends Operation {
  readonly method: string
  readonly path: string
}

const callsFactor = Number(process.env.CALLS_FACTOR ?? 1)
const CALLS = { SQLite: 1500 * callsFactor, PostgreSQL: 500 * callsFactor }
const PROBLEM: JsonSchema = { $ref: '#/components/schemas/Problem' }
const INVALID_IDS = ['x', '%00', '...', 'é', '%2f', '0', 'null', ' ', 'a'.repeat(300)]

/** The ids of existing objects by tag, and the ids of deleted ones. */
class ObjectPool {
  readonly byTag = new Map<string, string[]>()
  readonly deleted = new Set<string>()
  /** The edge of each route. */
  readonly edges = new Map<string, string>()

  add(tag: string, created: Body): void {
    if (typeof created.id !== 'string') return
    this.byTag.set(tag, [...(this.byTag.get(tag) ?? []), created.id])
    if (typeof created.edge_id === 'string') this.edges.set(created.id, created.edge_id)
  }

  drop(id: string): void {
    this.deleted.add(id)
    for (const [tag, ids] of this.byTag)
      this.byTag.set(
        tag,
        ids.filter((existing) => existing !== id),
      )
  }

  get recent(): string[] {
    return [...this.byTag.values()].flat().slice(-60)
  }
}

class Fuzzer {
  readonly #random: SeededRandom
  readonly #api: TestApi
  readonly #pool = new ObjectPool()
  readonly #calls: ApiOperation[]
  readonly #ajv: Ajv
  readonly #validators = new Map<JsonSchema, ValidateFunction>()
  readonly statuses = new Map<number, number>()
  readonly succeeded = new Set<string>()

  constructor(random: SeededRandom, api: TestApi, document: { paths: Body; components: Body }) {
    this.#random = random
    this.#api = api
    this.#ajv = new Ajv({ strict: false, validateFormats: false })
    this.#ajv.addSchema({ $id: 'openapi', components: document.components })
    this.#calls = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({
          ...operation,
          method: method.toUpperCase(),
          path,
        })),
    )
  }

  get operations(): string[] {
    return this.#calls.map(({ operationId }) => operationId)
  }

  add(tag: string, created: Body): void {
    this.#pool.add(tag, created)
  }

  async step(): Promise<void> {
    const random = this.#random
    const call = random.pick(this.#calls)
    const path = this.#fill(call)
    const body = await this.#body(call)
    const options: Parameters<ApiClient>[2] = {}
    if (body !== undefined && random.below(40) === 0) options.raw = JSON.stringify(body).slice(1)
    else if (body !== undefined) options.body = body
    if (random.below(50) === 0) options.headers = { 'content-type': random.pick(['text/plain', 'x', '']) }
    if (random.below(50) === 0) options.key = random.pick(['', 'x', `${'0'.repeat(27)}_${'0'.repeat(43)}`])
    const client = random.below(20) === 0 ? this.#api.callAsOther : this.#api.call
    const response = await client(call.method, path, options)
    this.#check(call, path, response, `${call.method} ${path} ${JSON.stringify(body)?.slice(0, 500)}`)
  }

  #fill({ path, tags, parameters }: ApiOperation): string {
    const random = this.#random
    const ownIds = this.#pool.byTag.get(tags[0]) ?? []
    const id = ownIds.length > 0 && random.below(10) < 8 ? random.pick(ownIds) : this.#otherId()
    const filledPath = path.replace(/\{([a-z_]+)\}/g, (_, name: string) => {
      if (name === 'type') return random.pick(['ip_policy_created.v0', 'http_request_complete.v0', 'x'])
      if (name !== 'edge_id') return id
      const edges = this.#pool.byTag.get('edges_https') ?? ['x']
      return (path.endsWith('/routes') ? undefined : this.#pool.edges.get(id)) ?? random.pick(edges)
    })
    const paged = parameters.some((parameter) => parameter.in === 'query')
    if (!paged || random.below(2) === 0) return filledPath
    const ids = this.#pool.byTag.get(tags[0]) ?? ['x']
    const query = random.pick([
      'limit=1',
      'limit=100',
      'limit=0',
      'limit=x',
      'page=1',
      'limit=2&limit=3',
      'before',
    ])
    return `${filledPath}?${query === 'before' ? `before_id=${random.pick(ids)}` : query}`
  }

  #otherId(): string {
    const { recent } = this.#pool
    return this.#random.below(2) === 0 && recent.length > 0
      ? this.#random.pick(recent)
      : encodeURI(this.#random.pick(INVALID_IDS))
  }

  async #body({ requestBody, operationId, tags, method }: ApiOperation): Promise<unknown> {
    if (requestBody === undefined) return method === 'DELETE' && this.#random.below(60) === 0 ? {} : undefined
    const { schema } = requestBody.content['application/json']
    const created = generate(this.#random, schema, this.#pool.recent)
    // Sometimes a valid creation, unchanged or with one field replaced, so that there are objects to act on.
    if (!operationId.endsWith('.create') || !(tags[0] in samples) || this.#random.below(3) === 0)
      return created
    if (operationId.includes('.sources.')) return created
    const sampleBody = await samples[tags[0] as StoredKind].create(this.#api.call)
    const mutates = this.#random.below(2) === 0 && typeof created === 'object' && created !== null
    const [name] = mutates ? Object.keys(created) : []
    return name === undefined ? sampleBody : { ...sampleBody, [name]: (created as Body)[name] }
  }

  #check(call: ApiOperation, path: string, result: TestResponse, request: string): void {
    const { status, body } = result
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    const context = `${request} -> ${status} ${JSON.stringify(body).slice(0, 800)}`
    assert.ok(status < 500, context)
    const response = call.responses[String(status)]
    if (status < 400) {
      assert.ok(response, `${context}: a status the document does not have`)
      const schema = response.content?.['application/json'].schema
      if (schema === undefined) assert.equal(body, '', context)
      else this.#assertSchema(schema, body, context)
      this.succeeded.add(call.operationId)
    } else {
      this.#assertSchema(PROBLEM, body, context)
      assert.equal(body.status_code, status, context)
    }
    const id = path.split('?')[0]!.split('/').at(-1)!
    const isSingle = call.path.endsWith('/{id}')
    if (isSingle && this.#pool.deleted.has(id)) assert.ok(status >= 400, `${context}: it was deleted`)
    if (status === 201 && call.path.split('/').at(-1) !== 'sources') this.#pool.add(call.tags[0], body)
    if (status === 204 && isSingle) this.#pool.drop(id)
  }

  #assertSchema(schema: JsonSchema, body: unknown, context: string): void {
    let validate = this.#validators.get(schema)
    if (validate === undefined) {
      const absolute = JSON.stringify(schema).replaceAll('#/components', 'openapi#/components')
      validate = this.#ajv.compile(JSON.parse(absolute) as object)
      this.#validators.set(schema, validate)
    }
    assert.ok(validate(body), `${context}: ${JSON.stringify(validate.errors?.[0])}`)
  }
}

async function run(t: TestContext, engine: keyof typeof CALLS): Promise<void> {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const online = createOnline()
  const api = await engines[engine]!(t, { online })
  const { body: document } = await api.call('GET', '/openapi.json')
  const fuzzer = new Fuzzer(random, api, document)
  const { session, tunnel, endpoint } = online.putOnline(api.account.accountId, api.url)
  fuzzer.add('tunnel_sessions', { id: session })
  fuzzer.add('tunnels', { id: tunnel })
  fuzzer.add('endpoints', { id: endpoint })
  for (const kind of Object.keys(samples) as StoredKind[])
    fuzzer.add(kind, await createSample(api.call, kind))

  for (let call = 0; call < CALLS[engine]; call++) await fuzzer.step()

  t.diagnostic(`statuses ${JSON.stringify(Object.fromEntries(fuzzer.statuses))}`)
  t.diagnostic(`${fuzzer.succeeded.size} of ${fuzzer.operations.length} operations succeeded at least once`)
  assert.ok((fuzzer.statuses.get(201) ?? 0) > CALLS[engine] / 50, 'hardly anything was created')
  assert.equal(await api.store.verifyAudit(api.account.accountId), undefined, 'the audit chain is intact')
}

for (const engine of ['SQLite', 'PostgreSQL'] as const)
  test(`${CALLS[engine]} random calls on ${engine} never fail with a 5xx and always match the OpenAPI document (P57)`, (t) =>
    run(t, engine))
