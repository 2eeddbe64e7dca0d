// Many minimal agents in one process: one session each, reconnected with the agent's backoff.
//   node test/long/light-agents.ts HOST PORT CA_FILE AUTHTOKEN COUNT [NAME]
// With a name, each binds one of its own that ends with it.
// Prints the number of agents online whenever it changes.
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Backoff } from '../../src/agent/connect/backoff.ts'
import { systemClock } from '../../src/base/values/clock.ts'
import type { AgentSession } from '../../src/protocol/index.ts'
import { connectLightAgent } from '../support/light-agents.ts'

const [host = '', port, caFile = '', authtoken = '', count, name] = process.argv.slice(2)
const server = { host, port: Number(port), ca: readFileSync(caFile, 'utf8') }
let online = 0

const report = (change: number) => {
  online += change
  process.stdout.write(`${online}\n`)
}

async function runAgent(index: number): Promise<void> {
  // The backoff of an agent on another machine than the server (docs/protocol.md).
  const backoff = new Backoff({ clock: systemClock })
  let previous = { clientId: '', cookie: '' }
  for (;;) {
    const closed = Promise.withResolvers<void>()
    try {
      const session = await connectLightAgent(server, authtoken, {
        previous,
        onClose: () => closed.resolve(),
      })
      const { ClientId, Extra } = session.authResponse
      previous = { clientId: ClientId ?? previous.clientId, cookie: Extra?.Cookie ?? previous.cookie }
      if (name !== undefined) await bind(session, `agent-${index}-${name}`)
      backoff.reset()
      report(1)
      await closed.promise
      report(-1)
    } catch {
      // Every error is retried after the backoff.
    }
    await delay(backoff.next())
  }
}

async function bind(session: AgentSession, Domain: string): Promise<void> {
  try {
    await session.bind({ Proto: 'http', Opts: { Domain } })
  } catch (error) {
    session.close()
    throw error
  }
}

await Promise.all(Array.from({ length: Number(count) }, (_, index) => runAgent(index)))
