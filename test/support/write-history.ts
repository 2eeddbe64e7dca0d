import assert from 'node:assert/strict'
import type { ApiClient, TestResponse } from './api.ts'
import type { SeededRandom } from './random.ts'

/** A kind of objects that writers create, change and delete. */
export interface Kind {
  readonly path: string
  readonly key: string
  /** The field that says which write made the object what it is. */
  readonly mark: string
  /** What else an object is created with, and what else a change of the mark changes. */
  readonly body?: (mark: string) => object
  readonly change?: (mark: string) => object
}

/** Different kinds of objects: plain, with a unique name, with a secret, with a claimed address. */
const KINDS: readonly Kind[] = [
  { path: '/ip_policies', key: 'ip_policies', mark: 'description' },
  { path: '/bot_users', key: 'bot_users', mark: 'name' },
  {
    path: '/credentials',
    key: 'credentials',
    mark: 'description',
    body: () => ({ acl: ['bind:*.example.com'] }),
  },
  {
    path: '/event_destinations',
    key: 'event_destinations',
    mark: 'description',
    body: () => ({ target: { monitoring: { api_key: 'k' } } }),
  },
  { path: '/reserved_addrs', key: 'reserved_addrs', mark: 'description' },
]

/** One object as the writers see it: what was acknowledged, and what may have been committed since. */
export interface TrackedObject {
  readonly kind: Kind
  /** What it was created with. */
  readonly body: Readonly<Record<string, unknown>>
  /** What the response to its creation showed once; undefined without such a response. */
  token: string | undefined
  /** Undefined until a response contains its id. */
  id: string | undefined
  /** The last acknowledged mark; undefined once its deletion was acknowledged. */
  mark: string | undefined
  /** Marks of updates that were sent and never acknowledged. */
  readonly possibleMarks: Set<string>
  /** A deletion, or the creation itself, was sent and never acknowledged. */
  uncertain: boolean
}

/** The acknowledged writes, to compare with the state of a server after a crash. */
export class WriteHistory {
  readonly #random: SeededRandom
  readonly #kinds: readonly Kind[]
  readonly #objects: TrackedObject[] = []
  acknowledged = 0
  #marks = 0

  constructor(random: SeededRandom, kinds: readonly Kind[] = KINDS) {
    this.#random = random
    this.#kinds = kinds
  }

  get objects(): readonly TrackedObject[] {
    return this.#objects
  }

  /** One call of a writer. Returns false once the server or its database does not respond any more. */
  async step(call: ApiClient): Promise<boolean> {
    const random = this.#random
    const alive = this.#objects.filter(
      (object) => object.mark !== undefined && !object.uncertain && object.possibleMarks.size === 0,
    )
    const action = random.below(10)
    this.#marks += 1
    const mark = `mark ${this.#marks}`
    if (action < 5 || alive.length < 10) {
      const kind = random.pick(this.#kinds)
      const body = { ...kind.body?.(mark), ...kind.change?.(mark), [kind.mark]: mark }
      const object: TrackedObject = {
        ...{ kind, body, token: undefined, id: undefined, mark },
        ...{ possibleMarks: new Set(), uncertain: true },
      }
      this.#objects.push(object)
      const response = await sendOrUndefined(call('POST', kind.path, { body }))
      if (response === undefined) return false
      assert.equal(response.status, 201, JSON.stringify(response.body))
      object.id = response.body.id
      object.token = response.body.token
      object.uncertain = false
    } else {
      const object = random.pick(alive)
      const path = `${object.kind.path}/${object.id}`
      if (action < 8) {
        object.possibleMarks.add(mark)
        const body = { ...object.kind.change?.(mark), [object.kind.mark]: mark }
        const response = await sendOrUndefined(call('PATCH', path, { body }))
        if (response === undefined) return false
        assert.equal(response.status, 200, JSON.stringify(response.body))
        object.mark = mark
        object.possibleMarks.clear()
      } else {
        object.uncertain = true
        const response = await sendOrUndefined(call('DELETE', path))
        if (response === undefined) return false
        assert.equal(response.status, 204, JSON.stringify(response.body))
        object.mark = undefined
        object.uncertain = false
      }
    }
    this.acknowledged += 1
    return true
  }

  /** Requires that the server's state is that of the acknowledged writes, and resolves uncertain ones. */
  async verify(call: ApiClient): Promise<void> {
    assert.deepEqual(await this.reconcile(call), [])
  }

  /** Adopts the server's state, and returns how it differs from the acknowledged writes. */
  async reconcile(call: ApiClient): Promise<string[]> {
    const differences: string[] = []
    for (const kind of this.#kinds) {
      const stored = new Map<string, string>()
      for (let uri: string | null = kind.path; uri !== null; ) {
        const { status, body }: TestResponse = await call('GET', uri)
        assert.equal(status, 200, JSON.stringify(body))
        for (const item of body[kind.key]) stored.set(item.id, item[kind.mark])
        uri = body.next_page_uri
      }
      const byMark = new Map([...stored].map(([id, mark]) => [mark, id]))
      for (const object of this.#objects) {
        if (object.kind !== kind) continue
        object.id ??= byMark.get(object.mark!)
        const mark = object.id === undefined ? undefined : stored.get(object.id)
        const summary = `${kind.path} ${object.id} is ${mark}, was acknowledged as ${object.mark}`
        if (mark === undefined) {
          if (object.mark !== undefined && !object.uncertain) differences.push(`lost: ${summary}`)
        } else if (object.mark === undefined) differences.push(`restored after deletion: ${summary}`)
        else if (mark !== object.mark && !object.possibleMarks.has(mark))
          differences.push(`stale: ${summary}`)
        if (object.id !== undefined) stored.delete(object.id)
        object.mark = mark
        object.possibleMarks.clear()
        object.uncertain = false
      }
      for (const mark of stored.values())
        if (mark.startsWith('mark ')) differences.push(`${kind.path} has ${mark} twice`)
    }
    return differences
  }
}

/** The response, or undefined when the server or its database died first. */
async function sendOrUndefined(call: Promise<TestResponse>): Promise<TestResponse | undefined> {
  try {
    const response = await call
    return response.status === 503 ? undefined : response
  } catch {
    return undefined
  }
}
