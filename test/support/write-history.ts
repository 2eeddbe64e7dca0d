import assert from 'node:assert/strict'
import type { ApiClient, TestResponse } from './api.ts'
import type { SeededRandom } from './random.ts'

/** Different kinds of objects: plain, with a unique name, with a secret, with a claimed address. */
const KINDS = [
  { path: '/ip_policies', key: 'ip_policies', mark: 'description', body: {} },
  { path: '/bot_users', key: 'bot_users', mark: 'name', body: {} },
  { path: '/credentials', key: 'credentials', mark: 'description', body: { acl: ['bind:*.example.com'] } },
  {
    path: '/event_destinations',
    key: 'event_destinations',
    mark: 'description',
    body: { target: { monitoring: { api_key: 'k' } } },
  },
  { path: '/reserved_addrs', key: 'reserved_addrs', mark: 'description', body: {} },
] as const
type Kind = (typeof KINDS)[number]

/** One object as the writers see it: what was acknowledged, and what may have been committed since. */
interface TrackedObject {
  readonly kind: Kind
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
  readonly #objects: TrackedObject[] = []
  acknowledged = 0
  #marks = 0

  constructor(random: SeededRandom) {
    this.#random = random
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
      const kind = random.pick(KINDS)
      const object: TrackedObject = { kind, id: undefined, mark, possibleMarks: new Set(), uncertain: true }
      this.#objects.push(object)
      const response = await sendOrUndefined(
        call('POST', kind.path, { body: { ...kind.body, [kind.mark]: mark } }),
      )
      if (response === undefined) return false
      assert.equal(response.status, 201, JSON.stringify(response.body))
      object.id = response.body.id
      object.uncertain = false
    } else {
      const object = random.pick(alive)
      const path = `${object.kind.path}/${object.id}`
      if (action < 8) {
        object.possibleMarks.add(mark)
        const response = await sendOrUndefined(call('PATCH', path, { body: { [object.kind.mark]: mark } }))
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

  /** Compares the server's state with the acknowledged writes, and resolves uncertain ones. */
  async verify(call: ApiClient): Promise<void> {
    for (const kind of KINDS) {
      const stored = new Map<string, string>()
      for (let uri: string | null = kind.path; uri !== null; ) {
        const { body }: TestResponse = await call('GET', uri)
        for (const item of body[kind.key]) stored.set(item.id, item[kind.mark])
        uri = body.next_page_uri
      }
      const byMark = new Map([...stored].map(([id, mark]) => [mark, id]))
      for (const object of this.#objects) {
        if (object.kind !== kind) continue
        object.id ??= byMark.get(object.mark!)
        const mark = object.id === undefined ? undefined : stored.get(object.id)
        const summary = `${kind.path} ${object.id} is ${mark}, was acknowledged as ${object.mark}`
        if (mark === undefined) assert.ok(object.mark === undefined || object.uncertain, `lost: ${summary}`)
        else if (object.mark === undefined) assert.fail(`restored after deletion: ${summary}`)
        else assert.ok(mark === object.mark || object.possibleMarks.has(mark), `stale: ${summary}`)
        if (object.id !== undefined) stored.delete(object.id)
        object.mark = mark
        object.possibleMarks.clear()
        object.uncertain = false
      }
      for (const mark of stored.values())
        assert.ok(!mark.startsWith('mark '), `${kind.path} has ${mark} twice`)
    }
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
