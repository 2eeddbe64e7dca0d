import type { Clock } from '../../base/values/clock.ts'
import type { Row, Store } from '../../store/index.ts'
import type { AcmeClient } from './client/client.ts'
import { PLATFORM } from './client/subject.ts'
import { AUTHORITY_KIND, REGIONS_KIND } from './inventory.ts'
import { systemAuditEntry } from './job-store.ts'

/** Publishes this region and its addresses to all nodes. */
export async function announceRegion(options: {
  store: Store
  clock: Clock
  region: string
  addresses: readonly string[]
}): Promise<void> {
  const { region, addresses } = options
  await announce(options, REGIONS_KIND, `platform_region_${region}`, { region, addresses: [...addresses] })
}

/** Publishes the CAA identities of the authority in use to all nodes. */
export async function announceAuthority(options: {
  store: Store
  clock: Clock
  acme: AcmeClient
}): Promise<void> {
  const caa = await options.acme.caaIdentities()
  await announce(options, AUTHORITY_KIND, 'platform_authority', { caa: [...caa] })
}

async function announce(
  { store, clock }: { store: Store; clock: Clock },
  kind: string,
  id: string,
  data: Record<string, unknown>,
): Promise<void> {
  const isCurrent = (row: Row | undefined) => JSON.stringify(row?.data) === JSON.stringify(data)
  // Most starts have nothing new to publish and need no writable database.
  if (isCurrent(await store.fallbackReader.get(kind, PLATFORM, id))) return
  await store.write({}, async (tx) => {
    const row = await tx.get(kind, PLATFORM, id)
    if (isCurrent(row)) return
    const draft = { kind, account: PLATFORM, id, data, claims: [], references: [] }
    if (row === undefined) await tx.insert(draft)
    else await tx.update(draft)
    await tx.audit(systemAuditEntry(clock, { account: PLATFORM, action: 'announce', kind, object: id }))
  })
}
