import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { openStore } from '../../src/store/index.ts'
import { type Answer, type ApiClient, createClient, tempDir } from '../support/api.ts'
import { createRandom, type Random } from '../support/random.ts'
import { startServerProcess } from '../support/server-process.ts'

const KILLS = 20
const WRITERS = 4

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

class History {
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

/** What must hold in the tables whatever happened: nothing points at nothing, and every row has its history (P3). */
function checkTables(file: string): void {
  const database = new DatabaseSync(file)
  const none = (what: string, sql: string) =>
    assert.deepEqual(database.prepare(`${sql} LIMIT 3`).all(), [], what)
  assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
  none('a name without its holder', 'SELECT * FROM claims WHERE id NOT IN (SELECT id FROM resources)')
  none('a reference from nowhere', 'SELECT * FROM refs WHERE id NOT IN (SELECT id FROM resources)')
  none('a reference to nothing', 'SELECT * FROM refs WHERE target NOT IN (SELECT id FROM resources)')
  none('a revision of the future', 'SELECT * FROM resources WHERE revision > (SELECT revision FROM head)')
  none(
    'a bot without its name',
    "SELECT id FROM resources WHERE kind = 'bot_users' AND id NOT IN (SELECT id FROM claims)",
  )
  none(
    'an address that nobody holds',
    "SELECT id FROM resources WHERE kind = 'reserved_addrs' AND id NOT IN (SELECT id FROM claims)",
  )
  none(
    'a destination without its secret',
    "SELECT id FROM resources WHERE kind = 'event_destinations' AND sealed IS NULL",
  )
  none(
    'a row that no audit record tells of',
    "SELECT id FROM resources WHERE kind IN ('ip_policies', 'bot_users') AND id NOT IN (SELECT object FROM audit WHERE action = 'create')",
  )
  database.close()
}

test(`acknowledged writes survive ${KILLS} kills under ${WRITERS} writers, and nothing is half made (P1-P3)`, async (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  const dataDir = await tempDir(t)
  const history = new History(random)
  const flags = [
    '--roles',
    'api',
    '--log-level',
    'error',
    '--api-rate-limit',
    '0',
    '--tcp-ports',
    '20000-60000',
  ]
  let slowest = 0
  let server = await startServerProcess(t, dataDir, flags)

  for (let kill = 1; kill <= KILLS; kill++) {
    const call = createClient(server.url, server.apiKey)
    const writers = Array.from({ length: WRITERS }, async () => {
      while (await history.step(call));
    })
    await delay(50 + random.below(350))
    await server.kill()
    await Promise.all(writers)
    if (kill % 5 === 0) checkTables(join(dataDir, 'adit.db'))

    const before = performance.now()
    server = await startServerProcess(t, dataDir, flags)
    slowest = Math.max(slowest, performance.now() - before)
    await history.verify(createClient(server.url, server.apiKey))
  }

  await server.stop()
  t.diagnostic(
    `${history.acknowledged} acknowledged writes, ready again after ${Math.round(slowest)} ms at most`,
  )
  assert.ok(history.acknowledged > KILLS * WRITERS, `only ${history.acknowledged} writes`)
  checkTables(join(dataDir, 'adit.db'))
  const store = await openStore({
    dataDir,
    masterKeyFile: join(dataDir, 'master.key'),
    clock: systemClock,
    log: silentLog,
  })
  const [account] = await store.scan('accounts', { limit: 1 })
  assert.equal(await store.verifyAudit(account!.id), undefined, 'the audit chain is whole')
  await store.close()
})

test('the checks find what they are for', async (t) => {
  const dataDir = await tempDir(t)
  const server = await startServerProcess(t, dataDir, ['--roles', 'api'])
  const call = createClient(server.url, server.apiKey)
  const history = new History(createRandom())
  const policy = () =>
    history.objects.find(({ kind, mark }) => kind.path === '/ip_policies' && mark !== undefined)
  while (history.acknowledged < 30 || policy() === undefined) await history.step(call)
  await history.verify(call)
  const victim = policy()!
  const bot = await call.create('/bot_users', { name: 'somebody' })

  await call('DELETE', `/ip_policies/${victim.id}`)
  await assert.rejects(history.verify(call), /lost/)
  await server.stop()
  const database = new DatabaseSync(join(dataDir, 'adit.db'))
  database.exec(`DELETE FROM claims WHERE id = '${bot.id}'`)
  database.close()
  assert.throws(() => checkTables(join(dataDir, 'adit.db')), /a bot without its name/)
  await rm(dataDir, { recursive: true })
})
