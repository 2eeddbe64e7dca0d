// Many agents in one process, as light as the protocol allows: a session each, held and dialled again as the agent does.
//   node test/long/light-agents.ts HOST PORT CA_FILE AUTHTOKEN COUNT
// Prints a line with how many are online whenever that changes.
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Backoff } from '../../src/agent/connect/backoff.ts'
import { systemClock } from '../../src/base/clock.ts'
import { Secret } from '../../src/base/secret.ts'
import { connectAgentSession } from '../../src/protocol/index.ts'

const [host = '', port, caFile = '', authtoken = '', count] = process.argv.slice(2)
const ca = readFileSync(caFile, 'utf8')
let online = 0

const tell = (change: number) => {
  online += change
  process.stdout.write(`${online}\n`)
}

async function hold(): Promise<void> {
  // The waiting times of an agent that is not on the server's own machine (docs/protocol.md).
  const backoff = new Backoff({ clock: systemClock })
  let [clientId, cookie] = ['', '']
  for (;;) {
    const closed = Promise.withResolvers<void>()
    try {
      const session = await connectAgentSession({
        host,
        port: Number(port),
        servername: 'localhost',
        ca,
        identity: {
          authtoken: new Secret(authtoken),
          clientId,
          cookie,
          version: '0.0.0',
          userAgent: 'light-agent/0.0.0',
          clientType: 'light-agent',
          os: 'linux',
          arch: 'x64',
          commands: { restart: 'no', stop: 'no', update: 'no' },
        },
        onProxy: (_header, stream) => stream.reset(),
        onCommand: async () => {},
        onClose: () => closed.resolve(),
      })
      clientId = session.welcome.ClientId ?? clientId
      cookie = session.welcome.Extra?.Cookie ?? cookie
      backoff.reset()
      tell(1)
      await closed.promise
      tell(-1)
    } catch {
      // Whatever it is, the next attempt comes after a while.
    }
    await delay(backoff.next())
  }
}

await Promise.all(Array.from({ length: Number(count) }, hold))
