// A process that only runs certificate jobs, for tests that kill it.
import { join } from 'node:path'
import { createOutbound } from '../../src/base/outbound/outbound.ts'
import { systemClock } from '../../src/base/values/clock.ts'
import { createAuthority, createCerts, createResolver, loadAuthority } from '../../src/certs/index.ts'
import { nameServerNames } from '../../src/dns/index.ts'
import { openStore } from '../../src/store/index.ts'
import { BASE, TIMINGS, testLog } from './names.ts'

const { url, dataDir, directory, ca, dnsPort } = JSON.parse(process.env.WORKER!)
const store = await openStore({
  url,
  dataDir,
  masterKeyFile: join(dataDir, 'master.key'),
  clock: systemClock,
  log: testLog,
})
const certs = createCerts({
  store,
  authority: await loadAuthority(await createAuthority()),
  base: BASE,
  region: 'us',
  addresses: ['127.0.0.1'],
  acme: { directory },
  outbound: createOutbound({ allow: ['127.0.0.0/8', '::1/128'], extraCa: [ca] }),
  resolver: createResolver([`127.0.0.1:${dnsPort}`]),
  nameServers: nameServerNames(BASE),
  log: testLog,
  leaseMs: 2000,
  timings: TIMINGS,
})
await certs.start()
void certs.runDue().then(() => process.stdout.write('idle\n'))
// The parts unref their timers, so this keeps the process alive.
setInterval(() => {}, 60_000)
