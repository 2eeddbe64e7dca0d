import assert from 'node:assert/strict'
import type { Answer, ApiClient } from './api.ts'
import type { Random } from './random.ts'

/** Objects of different make: a plain one, one with a unique name, one with a secret, one that claims an address. */
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

/** One object as the writers know it: what was acknowledged, and what may or may not have come through since. */
interface Known {
  readonly kind: Kind
  /** Undefined while nobody has told its id. */
  id: string | undefined
  /** The last acknowledged mark; undefined once its deletion was acknowledged. */
  mark: string | undefined
  /** Marks it may have as well: of updates that were sent and never answered. */
  readonly maybe: Set<string>
  /** A deletion, or the creation itself, was sent and never answered. */
  doubtful: boolean
}

/** What writers were told, to be compared with what a server has after a crash. */
export class WriteHistory {
  readonly #random: Random
  readonly #objects: Known[] = []
  acknowledged = 0
  #marks = 0

  constructor(random: Random) {
    this.#random = random
  }

  get objects(): readonly Known[] {
    return this.#objects
  }

  /** One call of a writer; false once the server does not answer any more. */
  async step(call: ApiClient): Promise<boolean> {
    const random = this.#random
    const alive = this.#objects.filter(
      (known) => known.mark !== undefined && !known.doubtful && known.maybe.size === 0,
    )
    const what = random.below(10)
    this.#marks += 1
    const mark = `mark ${this.#marks}`
    if (what < 5 || alive.length < 10) {
      const kind = random.pick(KINDS)
      const known: Known = { kind, id: undefined, mark, maybe: new Set(), doubtful: true }
      this.#objects.push(known)
      const answer = await attempt(call('POST', kind.path, { body: { ...kind.body, [kind.mark]: mark } }))
      if (answer === undefined) return false
      assert.equal(answer.status, 201, JSON.stringify(answer.body))
      known.id = answer.body.id
      known.doubtful = false
    } else {
      const known = random.pick(alive)
      const at = `${known.kind.path}/${known.id}`
      if (what < 8) {
        known.maybe.add(mark)
        const answer = await attempt(call('PATCH', at, { body: { [known.kind.mark]: mark } }))
        if (answer === undefined) return false
        assert.equal(answer.status, 200, JSON.stringify(answer.body))
        known.mark = mark
        known.maybe.clear()
      } else {
        known.doubtful = true
        const answer = await attempt(call('DELETE', at))
        if (answer === undefined) return false
        assert.equal(answer.status, 204, JSON.stringify(answer.body))
        known.mark = undefined
        known.doubtful = false
      }
    }
    this.acknowledged += 1
    return true
  }

  /** Compares what the server has with what it told, and settles what was in doubt. */
  async verify(call: ApiClient): Promise<void> {
    for (const kind of KINDS) {
      const found = new Map<string, string>()
      for (let uri: string | null = kind.path; uri !== null; ) {
        const { body }: Answer = await call('GET', uri)
        for (const item of body[kind.key]) found.set(item.id, item[kind.mark])
        uri = body.next_page_uri
      }
      const byMark = new Map([...found].map(([id, mark]) => [mark, id]))
      for (const known of this.#objects) {
        if (known.kind !== kind) continue
        known.id ??= byMark.get(known.mark!)
        const mark = known.id === undefined ? undefined : found.get(known.id)
        const told = `${kind.path} ${known.id} is ${mark}, was told to be ${known.mark}`
        if (mark === undefined) assert.ok(known.mark === undefined || known.doubtful, `lost: ${told}`)
        else if (known.mark === undefined) assert.fail(`back from the dead: ${told}`)
        else assert.ok(mark === known.mark || known.maybe.has(mark), `older than told: ${told}`)
        if (known.id !== undefined) found.delete(known.id)
        known.mark = mark
        known.maybe.clear()
        known.doubtful = false
      }
      for (const mark of found.values())
        assert.ok(!mark.startsWith('mark '), `${kind.path} has ${mark} twice`)
    }
  }
}

/** The answer, or undefined when the server was gone before it gave one. */
async function attempt(calling: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await calling
  } catch {
    return undefined
  }
}
