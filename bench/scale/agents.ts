// Many minimal agents in one process, each with one HTTP tunnel.
//   node bench/scale/agents.ts CA_FILE AUTHTOKEN COUNT LEGS ADDRESS...
// The agents are spread over the addresses. Prints the number of their legs when all are online, then stays until it is killed.
import { readFileSync } from 'node:fs'
import { Secret } from '../../src/base/values/secret.ts'
import { type AgentSession, connectAgentSession } from '../../src/protocol/index.ts'

/** The server admits at most 100 unauthenticated connections of one source, and there are four of these processes. */
const CONCURRENCY = 20

const [caFile = '', authtoken = '', count, maxLegs, ...addresses] = process.argv.slice(2)
const ca = readFileSync(caFile, 'utf8')
let [started, legs] = [0, 0]
/** Whether the server had slots for all further legs so far: agents go on with those they have. */
let hasSlots = true

function connectLeg(
  address: string,
  identity: { clientId?: string; cookie?: string; leg?: { sessionId: string; number: number } } = {},
): Promise<AgentSession> {
  const [host = '', port] = address.split(':')
  return connectAgentSession({
    ...{ host, port: Number(port), servername: 'localhost', ca },
    identity: {
      ...{
        authtoken: new Secret(authtoken),
        version: '0.0.0',
        userAgent: 'scale/0.0.0',
        clientType: 'scale',
      },
      ...{ os: 'linux', arch: 'x64', maxLegs: Number(maxLegs) },
      commands: { restart: 'no', stop: 'no', update: 'no' },
      ...identity,
    },
    onProxy: (_header, stream) => stream.reset(),
    onCommand: async () => {},
    onClose() {},
  })
}

async function startAgent(address: string): Promise<void> {
  const session = await connectLeg(address)
  const { ClientId: clientId = '', Extra } = session.authResponse
  const { Cookie: cookie = '', AgentSessionID: sessionId = '' } = Extra ?? {}
  const { Error: error } = await session.bind({ Proto: 'http', Opts: {} })
  if (error !== '') throw new Error(error)
  legs++
  for (let number = 1; number < Number(maxLegs) && hasSlots; number++)
    await connectLeg(address, { clientId, cookie, leg: { sessionId, number } }).then(
      () => legs++,
      () => {
        hasSlots = false
      },
    )
}

async function startAgents(): Promise<void> {
  while (started < Number(count)) await startAgent(addresses[started++ % addresses.length]!)
}

await Promise.all(Array.from({ length: CONCURRENCY }, startAgents))
process.stdout.write(`${legs}\n`)
