import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestApi, TestResponse } from '../../../test/support/api.ts'
import { assertRejected } from '../../../test/support/assert-rejected.ts'
import { engines } from '../../../test/support/engines.ts'
import { type Body, collectionPath, type StoredKind, samples } from '../../../test/support/samples.ts'
import { invalidBodies, withValue } from '../../../test/support/wrong-values.ts'
import { type Resource, resources } from '../../resources/index.ts'
import { resourceRoutes } from '../routes.ts'

const KSUID = /^[0-9A-Za-z]{27}$/
const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/

/** One resource under test. */
class Subject {
  readonly api: TestApi
  readonly kind: StoredKind
  readonly resource: Resource
  readonly parents: Record<string, string>
  readonly path: string

  constructor(api: TestApi, kind: StoredKind, parents: Record<string, string>) {
    this.api = api
    this.kind = kind
    this.resource = resources[kind]
    this.parents = parents
    this.path = collectionPath(kind, parents)
  }

  get sample() {
    return samples[this.kind]
  }

  can(verb: Resource['operations'][number]): boolean {
    return this.resource.operations.includes(verb)
  }

  body(): Promise<Body> {
    return this.sample.create(this.api.call)
  }

  /** The required fields of a creation only. */
  async minimal(): Promise<Body> {
    const full = await this.body()
    const { required = [] } = resourceRoutes(this.resource).create.body as { required?: string[] }
    const { alternatives = [] } = this.sample
    return Object.fromEntries([...required, ...alternatives].map((field) => [field, full[field]]))
  }

  async make(body?: Body): Promise<Body & { id: string }> {
    // An account has at most one restriction of each type.
    if (this.kind === 'ip_restrictions')
      for (const { id } of (await this.api.call('GET', this.path)).body.ip_restrictions)
        await this.api.call('DELETE', `${this.path}/${id}`)
    return this.api.call.create(this.path, body ?? (await this.body()))
  }

  pathOf(id: string): string {
    return `${this.path}/${id}`
  }

  get(id: string): Promise<TestResponse> {
    return this.api.call('GET', this.pathOf(id))
  }
}

function assertRejects(
  subject: Subject,
  call: () => Promise<TestResponse>,
  expected: { status: number; field?: string; what: string },
) {
  return assertRejected(subject.api, call, expected)
}

/** Asserts that a response contains the body that was sent; references are written as ids and read as Refs. */
function shows(subject: Subject, answer: Body, body: Body): void {
  for (const [name, field] of Object.entries(subject.resource.fields)) {
    const written = body[field.value.key ?? name]
    if (written === undefined || field.access === 'writeOnly' || subject.resource.modules.includes(name))
      continue
    const shown = answer[name]
    const isRedacted = field.value.sealed.includes('') && field.value.revealed === undefined
    if (isRedacted) assert.equal(shown, null, name)
    else if (field.value.key !== undefined && Array.isArray(written))
      assert.deepEqual(
        (shown as { id: string }[]).map(({ id }) => id),
        written,
        name,
      )
    else if (field.value.key !== undefined) assert.equal((shown as { id: string }).id, written, name)
    else if (name === 'sources' || name === 'target') assert.ok(shown !== null, name)
    // The certificate and the address of an operator are added.
    else if (name === 'binding') assert.partialDeepStrictEqual(shown, written, name)
    else assert.deepEqual(shown, written, name)
  }
}

type Check = (subject: Subject) => Promise<void>

const checks: Record<string, Check> = {
  async 'is created with all fields, and read back the same'(subject) {
    const { resource, api } = subject
    const body = await subject.body()
    // Timestamps have whole seconds.
    const startedAt = Math.floor(Date.now() / 1000) * 1000

    const answer = await api.call('POST', subject.path, {
      body: subject.kind === 'ip_restrictions' ? { ...body, type: 'dashboard' } : body,
    })

    assert.equal(answer.status, 201, JSON.stringify(answer.body))
    const created = answer.body
    const visible = Object.entries(resource.fields).filter(
      ([, { access }]) => access !== 'hidden' && access !== 'writeOnly',
    )
    assert.deepEqual(
      Object.keys(created),
      visible.map(([name]) => name),
    )
    const [prefix, suffix] = created.id.split('_')
    assert.equal(prefix, resource.prefix)
    assert.match(suffix, KSUID)
    assert.equal(created.uri, `${resource.relativeUri ? '' : api.url}${subject.path}/${created.id}`)
    assert.match(created.created_at, RFC3339)
    const createdAt = Date.parse(created.created_at)
    assert.ok(createdAt >= startedAt && createdAt <= Date.now())
    shows(subject, created, subject.kind === 'ip_restrictions' ? { ...body, type: 'dashboard' } : body)
    assert.equal(answer.headers.get('cache-control'), 'no-store')
    assert.match(answer.headers.get('adit-operation-id') ?? '', /^op_/)
    const once = visible.flatMap(([name, { access }]) => (access === 'shownOnce' ? [name] : []))
    for (const name of once) assert.equal(typeof created[name], 'string', name)
    const later = { ...created, ...Object.fromEntries(once.map((name) => [name, null])) }
    const read = await subject.get(created.id)
    assert.equal(read.status, 200)
    assert.deepEqual(read.body, later)
    if (subject.can('list')) {
      const { body: page } = await api.call('GET', subject.path)
      assert.deepEqual(page[resource.listKey][0], later)
    }
  },

  async 'fills in defaults of absent fields'(subject) {
    const created = await subject.make(await subject.minimal())

    for (const [name, value] of Object.entries(subject.sample.defaults))
      assert.deepEqual(created[name], value, name)
  },

  async 'treats null as absent'(subject) {
    const { required = [], properties } = resourceRoutes(subject.resource).create.body as unknown as {
      required?: string[]
      properties: object
    }
    const { alternatives = [] } = subject.sample
    const nulls = Object.keys(properties)
      .filter((name) => !required.includes(name) && !alternatives.includes(name))
      .map((name) => [name, null])

    const created = await subject.make({ ...Object.fromEntries(nulls), ...(await subject.minimal()) })

    for (const [name, value] of Object.entries(subject.sample.defaults))
      assert.deepEqual(created[name], value, name)
  },

  async 'is listed newest first in pages, each object once while others are created and deleted'(subject) {
    if (!subject.can('list') || subject.kind === 'ip_restrictions') return
    const { api, resource, path } = subject
    const created = [await subject.make(), await subject.make(), await subject.make()].map(({ id }) => id)

    const { body: all } = await api.call('GET', path)
    assert.deepEqual(Object.keys(all), [resource.listKey, 'uri', 'next_page_uri'])
    assert.equal(all.uri, `${api.url}${path}`)
    assert.equal(all.next_page_uri, null)
    const expected: string[] = all[resource.listKey].map(({ id }: Body) => id)
    assert.deepEqual(expected.slice(0, 3), created.toReversed())
    assert.deepEqual(expected, expected.toSorted().reverse())
    const seen: string[] = []
    for (let uri: string | null = `${api.url}${path}?limit=1`; uri !== null; ) {
      const { body: page }: TestResponse = await api.call('GET', uri)
      seen.push(...page[resource.listKey].map(({ id }: Body) => id))
      assert.equal(page.uri, `${api.url}${path}`)
      assert.equal(page[resource.listKey].length, 1)
      assert.ok(page.next_page_uri === null || page.next_page_uri.startsWith(`${api.url}${path}?`))
      uri = page.next_page_uri
      // An object created while paging is newer than every following page.
      if (seen.length === 1) await subject.make()
      if (seen.length === 2 && subject.can('delete'))
        assert.equal((await api.call('DELETE', subject.pathOf(seen[0]!))).status, 204)
    }
    assert.deepEqual(seen, expected)
    const rest = await api.call('GET', `${path}?before_id=${expected[1]}&limit=100`)
    assert.deepEqual(
      rest.body[resource.listKey].map(({ id }: Body) => id),
      expected.slice(2),
    )
  },

  async 'changes the fields an update names and keeps the rest'(subject) {
    if (!subject.can('update')) return
    const { api, resource } = subject
    const created = await subject.make()
    const before = (await subject.get(created.id)).body
    const update = (await subject.sample.update?.(api.call)) ?? {}

    for (const [key, value] of Object.entries(update)) {
      const current = (await subject.get(created.id)).body
      const answer = await api.call('PATCH', subject.pathOf(created.id), { body: { [key]: value } })

      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      const name = Object.entries(resource.fields).find(
        ([field, { value: v }]) => (v.key ?? field) === key,
      )![0]
      const alsoMoves = ['updated_at']
      if (name === 'certificate_management_policy') alsoMoves.push('certificate_management_status')
      // What the URL of an endpoint consists of.
      if (name === 'url') alsoMoves.push('host', 'port', 'hostport', 'public_url')
      for (const [field, shown] of Object.entries(answer.body))
        if (field !== name && !alsoMoves.includes(field)) assert.deepEqual(shown, current[field], field)
      shows(subject, answer.body, { [key]: value })
      assert.deepEqual((await subject.get(created.id)).body, answer.body)
    }
    const after = (await subject.get(created.id)).body
    const nothing = await api.call('PATCH', subject.pathOf(created.id), { body: {} })
    assert.deepEqual(nothing.body, after)
    const { properties } = resource.updateSchema as unknown as { properties: object }
    const nulls = Object.fromEntries(Object.keys(properties).map((name) => [name, null]))
    assert.deepEqual((await api.call('PATCH', subject.pathOf(created.id), { body: nulls })).body, after)
    assert.deepEqual([after.id, after.uri, after.created_at], [before.id, before.uri, before.created_at])
  },

  async 'clears description and metadata when they are updated to an empty string'(subject) {
    if (!subject.can('update') || !('description' in subject.resource.fields)) return
    const created = await subject.make()

    const answer = await subject.api.call('PATCH', subject.pathOf(created.id), {
      body: { description: '', metadata: '' },
    })

    assert.deepEqual([answer.body.description, answer.body.metadata], ['', ''])
  },

  async 'counts bytes, not characters, in description and metadata'(subject) {
    if (!('description' in subject.resource.fields)) return
    const created = await subject.make()
    const limits = { description: 255, metadata: 4096 }
    for (const [field, limit] of Object.entries(limits))
      for (const character of ['a', 'é', '🙂']) {
        const width = Buffer.byteLength(character)
        const fits = character.repeat(Math.floor(limit / width))
        const full = fits + 'a'.repeat(limit - Buffer.byteLength(fits))
        const answer = await subject.api.call('PATCH', subject.pathOf(created.id), {
          body: { [field]: full },
        })
        assert.equal(answer.body[field], full, `${field} of ${limit} bytes`)

        const long = { [field]: `${fits}${character}` }
        const expected = { status: 400, field, what: `${field} over ${limit} bytes` }
        await assertRejects(
          subject,
          () => subject.api.call('PATCH', subject.pathOf(created.id), { body: long }),
          expected,
        )
        const creation = { ...(await subject.body()), ...long }
        await assertRejects(
          subject,
          () => subject.api.call('POST', subject.path, { body: creation }),
          expected,
        )
      }
  },

  async 'rejects a creation without a required field, by name'(subject) {
    const body = await subject.body()
    const { required = [] } = resourceRoutes(subject.resource).create.body as { required?: string[] }
    for (const field of required) {
      const { [field]: _removed, ...without } = body
      const expected = { status: 400, field, what: `without ${field}` }
      await assertRejects(subject, () => subject.api.call('POST', subject.path, { body: without }), expected)
      const empty = { ...body, [field]: null }
      await assertRejects(subject, () => subject.api.call('POST', subject.path, { body: empty }), expected)
    }
  },

  async 'rejects invalid values, by name'(subject) {
    const created = await subject.make()
    const body = { ...(await subject.body()) }
    const { properties } = subject.resource.updateSchema as unknown as { properties: object }
    for (const [field, values] of Object.entries(subject.sample.rejected ?? {}))
      for (const value of values) {
        const what = `${field} = ${JSON.stringify(value).slice(0, 60)}`
        const wrong = withValue(body, field, value)
        const expected = { status: 400, field, what }
        await assertRejects(subject, () => subject.api.call('POST', subject.path, { body: wrong }), expected)
        const top = field.split(/[.[]/)[0]!
        if (!subject.can('update') || !(top in properties)) continue
        const change = { [top]: wrong[top] }
        await assertRejects(
          subject,
          () => subject.api.call('PATCH', subject.pathOf(created.id), { body: change }),
          expected,
        )
      }
  },

  async 'rejects changes of assigned and fixed fields (P40)'(subject) {
    if (!subject.can('update')) return
    const created = await subject.make()
    const before = (await subject.get(created.id)).body
    const { properties } = subject.resource.updateSchema as unknown as { properties: object }
    for (const [field, value] of Object.entries({ ...before, ...created })) {
      if (field in properties) continue
      const expected = { status: 400, field, what: `PATCH ${field}` }
      await assertRejects(
        subject,
        () => subject.api.call('PATCH', subject.pathOf(created.id), { body: { [field]: value } }),
        expected,
      )
    }
    await assertRejects(
      subject,
      () => subject.api.call('PATCH', subject.pathOf(created.id), { body: before }),
      {
        status: 400,
        what: 'PATCH of everything read',
      },
    )
    assert.deepEqual((await subject.get(created.id)).body, before)
  },

  async 'is not found after its deletion'(subject) {
    if (!subject.can('delete')) return
    const { api, resource } = subject
    const created = await subject.make()

    const answer = await api.call('DELETE', subject.pathOf(created.id))

    assert.equal(answer.status, 204)
    assert.equal(answer.body, '')
    for (const method of ['GET', 'PATCH', 'DELETE'])
      await assertRejects(
        subject,
        () => api.call(method, subject.pathOf(created.id), method === 'PATCH' ? { body: {} } : {}),
        { status: 404, what: `${method} after deletion` },
      )
    if (!subject.can('list')) return
    const { body } = await api.call('GET', subject.path)
    assert.ok(!body[resource.listKey].some(({ id }: Body) => id === created.id))
  },

  async 'is found under its own id only'(subject) {
    const { api, resource } = subject
    const suffix = (await subject.make()).id.split('_')[1]!
    const ids = [
      `${resource.prefix}_${'0'.repeat(27)}`,
      `${resource.prefix}_${suffix}x`,
      `${resource.prefix}_${suffix.slice(1)}`,
      `${resource.prefix}x_${suffix}`,
      `op_${suffix}`,
      suffix,
      'x',
      '%20',
      'é',
      '..%2f',
      "'%20OR%201=1--",
      'x'.repeat(500),
    ]
    const methods = ['GET', ...(subject.can('update') ? ['PATCH', 'DELETE'] : [])]
    for (const id of ids)
      for (const method of methods)
        await assertRejects(
          subject,
          () => api.call(method, subject.pathOf(id), method === 'PATCH' ? { body: {} } : {}),
          {
            status: 404,
            what: `${method} ${id}`,
          },
        )
  },
}

for (const [engine, start] of Object.entries(engines))
  test(`every resource on ${engine}`, async (t) => {
    const api = await start(t)

    for (const kind of Object.keys(samples) as StoredKind[]) {
      const parents = (await samples[kind].parents?.(api.call)) ?? {}
      const subject = new Subject(api, kind, parents)
      await t.test(kind, async (each) => {
        for (const [name, check] of Object.entries(checks)) await each.test(name, () => check(subject))

        await each.test(
          'rejects a wrong type, an unknown enum value and an unknown field anywhere',
          async () => {
            const created = await subject.make()
            const body = await subject.body()
            const routes = resourceRoutes(subject.resource)
            for (const wrong of invalidBodies(routes.create.body, body, engine === 'SQLite'))
              await assertRejects(subject, () => api.call('POST', subject.path, { body: wrong.body }), {
                status: 400,
                field: wrong.field,
                what: `${wrong.field} ${wrong.why}`,
              })
            if (!subject.can('update')) return
            const { properties } = routes.update.body as unknown as { properties: object }
            const change = Object.fromEntries(Object.entries(body).filter(([name]) => name in properties))
            for (const wrong of invalidBodies(routes.update.body, change, engine === 'SQLite'))
              await assertRejects(
                subject,
                () => api.call('PATCH', subject.pathOf(created.id), { body: wrong.body }),
                {
                  status: 400,
                  field: wrong.field,
                  what: `PATCH ${wrong.field} ${wrong.why}`,
                },
              )
          },
        )
      })
    }
  })
