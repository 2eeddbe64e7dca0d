import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fetchHost } from '../../support/agents.ts'
import { createClient } from '../../support/api.ts'
import { eventually, eventuallyEqual } from '../../support/eventually.ts'
import { connectLightAgent } from '../../support/light-agents.ts'
import { execute } from '../../support/postgres.ts'
import type { ServerProcess } from '../../support/server-process.ts'
import type { TrackedObject, WriteHistory } from '../../support/write-history.ts'

/** Both engines understand it and give the same values. */
const SELECT_ROWS = 'SELECT kind, id, data, sealed, CAST(revision AS TEXT) AS revision FROM resources'

/** What a node shows of an object: the answer of an endpoint, or whether a token is accepted. */
type Appearance = string

/** How an object looks at a node; of other kinds nodes show nothing but their copy. */
const PROBES: Readonly<Record<string, (node: ServerProcess, object: TrackedObject) => Promise<Appearance>>> =
  {
    async '/endpoints'(node, { body }) {
      const { host } = new URL(String(body.url))
      const answer = await fetchHost(node, host)
      return answer.status === 200 ? answer.body : String(answer.status)
    },
    async '/api_keys'(node, { token }) {
      const { status } = await createClient(node.url, token)('GET', '/ip_policies')
      return status === 200 ? 'accepted' : String(status)
    },
    '/credentials': (node, { token }) => probeAuthtoken(node, token!),
  }

/** How one that is not in the database looks. */
const ABSENT: Readonly<Record<string, Appearance>> = {
  '/endpoints': '404',
  '/api_keys': '401',
  '/credentials': 'ERR_ADIT_107',
}

/**
 * Requires that every node serves what the database has, object by object: its copy has the same rows, endpoints answer with
 * their last version, tokens of agents and API keys are accepted. What is not in the database, because it was deleted or
 * lost, is not served.
 */
export async function assertServed(
  nodes: readonly ServerProcess[],
  databaseUrl: string,
  { objects }: WriteHistory,
): Promise<void> {
  const rows = (await execute(databaseUrl, SELECT_ROWS)).map((row) => JSON.stringify(row))
  const stored = new Map(rows.map((row) => [JSON.parse(row).id, JSON.parse(JSON.parse(row).data)]))
  // Without a response to the creation, what it showed once is not known.
  const probed = objects.filter(
    ({ kind: { path }, token }) => path in PROBES && (path === '/endpoints' || token !== undefined),
  )
  assert.ok(probed.some(({ id }) => stored.has(id)) && probed.some(({ id }) => !stored.has(id)))
  for (const [index, node] of nodes.entries()) {
    const rowsOfOne = () => [...new Set(rows).symmetricDifference(new Set(readCopy(node)))]
    await eventuallyEqual(rowsOfOne, [], `rows of the database or of the copy of node ${index + 1} alone`)
    for (const object of probed) {
      const { path } = object.kind
      const data = stored.get(object.id)
      const present = path === '/endpoints' ? data?.description : 'accepted'
      const expected = data === undefined ? ABSENT[path] : present
      let appearance: Appearance | undefined
      await eventually(
        async () => {
          appearance = await PROBES[path]!(node, object)
          return appearance === expected
        },
        () => `${path} ${object.id} at node ${index + 1} is ${expected}, was ${appearance}`,
      )
    }
  }
}

/** Connects an agent; resolves to `accepted`, or to the code of the error. */
export async function probeAuthtoken({ credentials }: ServerProcess, authtoken: string): Promise<Appearance> {
  const [host = '', port] = credentials.agent_addr.split(':')
  const ca = readFileSync(credentials.ca_file, 'utf8')
  try {
    const session = await connectLightAgent({ host, port: Number(port), ca }, authtoken)
    session.close()
    return 'accepted'
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

function readCopy({ credentials }: ServerProcess): string[] {
  const file = join(dirname(credentials.ca_file), 'last-known.db')
  const copy = new DatabaseSync(file, { readOnly: true })
  try {
    return copy
      .prepare(SELECT_ROWS)
      .all()
      .map((row) => JSON.stringify(row))
  } finally {
    copy.close()
  }
}
