import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { silentLog } from '../base/process/log.ts'
import { systemClock } from '../base/values/clock.ts'
import { type AuditEntry, openStore, type Store } from '../store/index.ts'
import { createZones, type ZoneInputs, type Zones } from './follow-zones.ts'
import { resolve } from './resolve.ts'

async function startZones(
  t: TestContext,
): Promise<{ store: Store; zones: Zones; challenge(value: string): void }> {
  const dataDir = createTempDir()
  const store = await openStore({
    dataDir,
    masterKeyFile: join(dataDir, 'master.key'),
    clock: systemClock,
    log: silentLog,
  })
  let challenges: { name: string; value: string }[] = []
  let notify: (revision: number) => void = () => {}
  const inputs: ZoneInputs = {
    regions: () => [{ region: 'us', addresses: ['192.0.2.1'] }],
    dnsChallenges: () => challenges,
    caaIdentities: () => [],
    watch(listener) {
      notify = listener
      return { stop() {} }
    },
  }
  const zones = createZones({ store, base: 'adit.example', addresses: ['192.0.2.1'], inputs, log: silentLog })
  await zones.start()
  t.after(async () => {
    await zones.stop()
    await store.close()
  })
  return {
    store,
    zones,
    challenge(value) {
      challenges = [{ name: '_acme-challenge.adit.example', value }]
      notify(1000)
    },
  }
}

async function put(store: Store, kind: string, id: string, data: Record<string, unknown>): Promise<void> {
  await store.write({}, async (tx) => {
    const draft = { kind, id, account: 'ac_1', data, claims: [], references: [] }
    if ((await tx.get(kind, 'ac_1', id)) === undefined) await tx.insert(draft)
    else await tx.update(draft)
    await tx.audit(auditEntry(kind, id))
  })
}

const auditEntry = (kind: string, object: string): AuditEntry => ({
  account: 'ac_1',
  principal: undefined,
  credential: undefined,
  source: undefined,
  requestId: 'op_1',
  action: 'test',
  kind,
  object,
  outcome: 'done',
})

const countAnswers = (zones: Zones, name: string, type: string) =>
  resolve(zones.table(), name, type).answers.length

const ingress = { domain: 'agents.example.org', certificate_management_policy: null }

test('a delegated zone is served while its agent ingress exists', async (t) => {
  const { store, zones } = await startZones(t)
  const name = 'tunnel.us.agents.example.org'

  await put(store, 'agent_ingresses', 'agin_1', ingress)
  await eventually(() => countAnswers(zones, name, 'A') === 1, 'the zone is served')
  await store.write({}, async (tx) => {
    await tx.remove('agent_ingresses', 'ac_1', 'agin_1')
    await tx.audit(auditEntry('agent_ingresses', 'agin_1'))
  })

  await eventually(() => resolve(zones.table(), name, 'A').rcode === 'REFUSED', 'the zone is gone')
})

test('a new challenge is served, and the zone serial grows', async (t) => {
  const { zones, challenge } = await startZones(t)

  challenge('proof')

  await eventually(
    () => countAnswers(zones, '_acme-challenge.adit.example', 'TXT') === 1,
    'the challenge is served',
  )
  const { soa } = zones.table().get('adit.example')!
  assert.equal((soa as { data: { serial: number } }).data.serial, 1000)
})

test('a name that DNS cannot serve leaves the zones as they were', async (t) => {
  const { store, zones, challenge } = await startZones(t)

  await put(store, 'agent_ingresses', 'agin_1', { ...ingress, domain: 'not a name' })
  challenge('proof')
  await new Promise((resolve) => setImmediate(resolve))

  assert.equal(countAnswers(zones, 'www.adit.example', 'A'), 1)
})
