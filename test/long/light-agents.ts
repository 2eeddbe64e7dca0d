// Many minimal agents in one process: one session each, reconnected with the agent's backoff.
//   node test/long/light-agents.ts HOST PORT CA_FILE AUTHTOKEN COUNT
// Prints the number of agents online whenever it changes.
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Backoff } from '../../src/agent/connect/backoff.ts'
import { systemClock } from '../../src/base/clock.ts'
import { Secret } from '../../src/base/secret.ts'
import { connectAgentSession } from '../../src/protocol/index.ts'

const [host = '', port, caFile = '', authtoken = '', count] = process.argv.slice(2)
const ca = readFileSync(caFile, 'utf8')
let online = 0

const report = (change: number) => {
  online += change
  process.stdout.write(`${online}\n`)
}

async function runAgent(): Promise<void> {
  // The backoff of an agent on another machine than the server (docs/protocol.md).
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
      clientId = session.authResponse.ClientId ?? clientId
      cookie = session.authResponse.Extra?.Cookie ?? cookie
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

await Promise.all(Array.from({ length: Number(count) }, runAgent))
