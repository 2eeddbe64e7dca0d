import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Ajv, type ValidateFunction } from 'ajv'
import type { Answer, ApiClient, TestApi } from '../support/api.ts'
import { engines } from '../support/engines.ts'
import { generate, type Schema } from '../support/generate.ts'
import { createOnline } from '../support/online.ts'
import { createRandom, type Random } from '../support/random.ts'
import { type Body, create, type StoredKind, samples } from '../support/samples.ts'

interface Described {
  operationId: string
  tags: [string]
  parameters: { name: string; in: string }[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
  responses: Record<string, { content?: { 'application/json': { schema: Schema } } }>
}

/** One call of the document, ready to be made at random. */
interface Callable extends Described {
  readonly method: string
  readonly path: string
}

const factor = Number(process.env.CALLS_FACTOR ?? 1)
const CALLS = { SQLite: 1500 * factor, PostgreSQL: 500 * factor }
const PROBLEM: Schema = { $ref: '#/components/schemas/Problem' }
const JUNK = ['x', '%00', '..', 'é', '%2f', '0', 'null', ' ', 'a'.repeat(300)]

/** Ids that exist, by the tag they were made under; and those that were deleted. */
class Known {
  readonly byTag = new Map<string, string[]>()
  readonly deleted = new Set<string>()
  /** The edge of each route. */
  readonly edges = new Map<string, string>()

  add(tag: string, made: Body): void {
    if (typeof made.id !== 'string') return
    this.byTag.set(tag, [...(this.byTag.get(tag) ?? []), made.id])
    if (typeof made.edge_id === 'string') this.edges.set(made.id, made.edge_id)
  }

  drop(id: string): void {
    this.deleted.add(id)
    for (const [tag, ids] of this.byTag)
      this.byTag.set(
        tag,
        ids.filter((each) => each !== id),
      )
  }

  get all(): string[] {
    return [...this.byTag.values()].flat().slice(-60)
  }
}

class Fuzzer {
  readonly #random: Random
  readonly #api: TestApi
  readonly #known = new Known()
  readonly #calls: Callable[]
  readonly #ajv: Ajv
  readonly #validators = new Map<Schema, ValidateFunction>()
  readonly statuses = new Map<number, number>()
  readonly succeeded = new Set<string>()

  constructor(random: Random, api: TestApi, document: { paths: Body; components: Body }) {
    this.#random = random
    this.#api = api
    this.#ajv = new Ajv({ strict: false, validateFormats: false })
    this.#ajv.addSchema({ $id: 'openapi', components: document.components })
    this.#calls = Object.entries(document.paths as Record<string, Record<string, Described>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, described]) => ({
          ...described,
          method: method.toUpperCase(),
          path,
        })),
    )
  }

  get operations(): string[] {
    return this.#calls.map(({ operationId }) => operationId)
  }

  keep(tag: string, made: Body): void {
    this.#known.add(tag, made)
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
    const client = random.below(20) === 0 ? this.#api.strange : this.#api.call
    const answer = await client(call.method, path, options)
    this.#check(call, path, answer, `${call.method} ${path} ${JSON.stringify(body)?.slice(0, 500)}`)
  }

  #fill({ path, tags, parameters }: Callable): string {
    const random = this.#random
    const own = this.#known.byTag.get(tags[0]) ?? []
    const id = own.length > 0 && random.below(10) < 8 ? random.pick(own) : this.#elsewhere()
    const filled = path.replace(/\{([a-z_]+)\}/g, (_, name: string) => {
      if (name === 'type') return random.pick(['ip_policy_created.v0', 'http_request_complete.v0', 'x'])
      if (name !== 'edge_id') return id
      const edges = this.#known.byTag.get('edges_https') ?? ['x']
      return (path.endsWith('/routes') ? undefined : this.#known.edges.get(id)) ?? random.pick(edges)
    })
    const paged = parameters.some((parameter) => parameter.in === 'query')
    if (!paged || random.below(2) === 0) return filled
    const ids = this.#known.byTag.get(tags[0]) ?? ['x']
    const query = random.pick([
      'limit=1',
      'limit=100',
      'limit=0',
      'limit=x',
      'page=1',
      'limit=2&limit=3',
      'before',
    ])
    return `${filled}?${query === 'before' ? `before_id=${random.pick(ids)}` : query}`
  }

  #elsewhere(): string {
    const { all } = this.#known
    return this.#random.below(2) === 0 && all.length > 0
      ? this.#random.pick(all)
      : encodeURI(this.#random.pick(JUNK))
  }

  async #body({ requestBody, operationId, tags, method }: Callable): Promise<unknown> {
    if (requestBody === undefined) return method === 'DELETE' && this.#random.below(60) === 0 ? {} : undefined
    const { schema } = requestBody.content['application/json']
    const made = generate(this.#random, schema, this.#known.all)
    // A good creation now and then, with some of it spoiled or not, so that there is something to act on.
    if (!operationId.endsWith('.create') || !(tags[0] in samples) || this.#random.below(3) === 0) return made
    if (operationId.includes('.sources.')) return made
    const good = await samples[tags[0] as StoredKind].create(this.#api.call)
    const spoil = this.#random.below(2) === 0 && typeof made === 'object' && made !== null
    const [name] = spoil ? Object.keys(made) : []
    return name === undefined ? good : { ...good, [name]: (made as Body)[name] }
  }

  #check(call: Callable, path: string, answer: Answer, what: string): void {
    const { status, body } = answer
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    const told = `${what} -> ${status} ${JSON.stringify(body).slice(0, 800)}`
    assert.ok(status < 500, told)
    const response = call.responses[String(status)]
    if (status < 400) {
      assert.ok(response, `${told}: a status the document does not have`)
      const schema = response.content?.['application/json'].schema
      if (schema === undefined) assert.equal(body, '', told)
      else this.#fits(schema, body, told)
      this.succeeded.add(call.operationId)
    } else {
      this.#fits(PROBLEM, body, told)
      assert.equal(body.status_code, status, told)
    }
    const id = path.split('?')[0]!.split('/').at(-1)!
    const aboutOne = call.path.endsWith('/{id}')
    if (aboutOne && this.#known.deleted.has(id)) assert.ok(status >= 400, `${told}: it was deleted`)
    if (status === 201 && call.path.split('/').at(-1) !== 'sources') this.#known.add(call.tags[0], body)
    if (status === 204 && aboutOne) this.#known.drop(id)
  }

  #fits(schema: Schema, body: unknown, told: string): void {
    let validate = this.#validators.get(schema)
    if (validate === undefined) {
      const absolute = JSON.stringify(schema).replaceAll('#/components', 'openapi#/components')
      validate = this.#ajv.compile(JSON.parse(absolute) as object)
      this.#validators.set(schema, validate)
    }
    assert.ok(validate(body), `${told}: ${JSON.stringify(validate.errors?.[0])}`)
  }
}

async function run(t: TestContext, engine: keyof typeof CALLS): Promise<void> {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const online = createOnline()
  const api = await engines[engine]!(t, { online })
  const { body: document } = await api.call('GET', '/openapi.json')
  const fuzzer = new Fuzzer(random, api, document)
  const { session, tunnel, endpoint } = online.join(api.account.accountId, api.url)
  fuzzer.keep('tunnel_sessions', { id: session })
  fuzzer.keep('tunnels', { id: tunnel })
  fuzzer.keep('endpoints', { id: endpoint })
  for (const kind of Object.keys(samples) as StoredKind[]) fuzzer.keep(kind, await create(api.call, kind))

  for (let call = 0; call < CALLS[engine]; call++) await fuzzer.step()

  t.diagnostic(`statuses ${JSON.stringify(Object.fromEntries(fuzzer.statuses))}`)
  t.diagnostic(`${fuzzer.succeeded.size} of ${fuzzer.operations.length} operations succeeded at least once`)
  assert.ok((fuzzer.statuses.get(201) ?? 0) > CALLS[engine] / 50, 'hardly anything was created')
  assert.equal(await api.store.verifyAudit(api.account.accountId), undefined, 'the audit chain is whole')
}

for (const engine of ['SQLite', 'PostgreSQL'] as const)
  test(`${CALLS[engine]} random calls on ${engine}: no failure, and every answer as the document says (P57)`, (t) =>
    run(t, engine))
