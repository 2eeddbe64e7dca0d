import { createOutbound } from '../../base/outbound/outbound.ts'
import { silentLog } from '../../base/process/log.ts'
import { IpPolicy } from '../../resources/index.ts'
import { openStore } from '../../store/index.ts'
import { createEvents } from '../index.ts'
import { createWriter } from './platform.ts'

// Run as a separate process that the test kills: changes resources and delivers their events at the same time. Its clock
// runs fast, so that hours of retries pass in seconds.
const [dataDir = '', from = '0', to = '0'] = process.argv.slice(2)
const SPEED = 20_000
const startedAt = Date.now()
const clock = { now: () => startedAt + (Date.now() - startedAt) * SPEED, monotonic: () => performance.now() }

const store = await openStore({ dataDir, masterKeyFile: `${dataDir}/master.key`, clock, log: silentLog })
const events = createEvents({
  store,
  clock,
  outbound: createOutbound({ allow: ['127.0.0.1'] }),
  log: silentLog,
  apiUrl: () => 'http://api.test',
  node: 'one',
  limits: { tickMs: 10 },
})
await events.start()
// Runs until it is killed, or the test ends.
process.channel?.ref()
process.once('disconnect', () => process.exit())

const { create } = createWriter(store)
let next = Number(from)
await Promise.all(
  Array.from({ length: 50 }, async () => {
    while (next < Number(to)) {
      const number = next++
      await create(IpPolicy, { description: String(number) })
      process.send?.(number)
    }
  }),
)
