import type { Logger } from '../base/process/log.ts'
import type { Row, Store } from '../store/index.ts'
import { compileZones, type ZoneTable } from './zone.ts'
import { buildZones, type ZoneSnapshot } from './zones.ts'

/** Inputs of the zones from the parts that manage certificates and regions. */
export interface ZoneInputs {
  regions(): ZoneSnapshot['regions']
  dnsChallenges(): ZoneSnapshot['challenges']
  caaIdentities(): readonly string[]
  /** Calls back after any of the above has changed, with the store's revision. */
  watch(changed: (revision: number) => void): { stop(): void }
}

/** The platform's zones, kept in sync with the store. */
export interface Zones {
  table(): ZoneTable
  start(): Promise<void>
  stop(): Promise<void>
}

const FOLLOWED_KINDS = ['agent_ingresses'] as const

/** Follows the store and recompiles the zones when their inputs change. */
export function createZones(options: {
  store: Pick<Store, 'follow'>
  base: string
  addresses: readonly string[]
  inputs: ZoneInputs
  log: Logger
}): Zones {
  const { store, base, addresses, inputs, log } = options
  const ingresses = new Map<string, ZoneSnapshot['ingresses'][number]>()
  let serial = 0
  let compiled: ZoneTable = new Map()
  let scheduled: NodeJS.Immediate | undefined
  let subscriptions: { stop(): void }[] = []

  /** Whether the row changed anything visible in DNS; certificate progress, for example, is not. */
  function applyIngress(id: string, row: Row<'agent_ingresses'> | undefined): boolean {
    const previous = ingresses.get(id)
    if (row === undefined) return ingresses.delete(id)
    const { domain, certificate_management_policy: policy } = row.data
    const next = { domain, account: row.account, managed: policy !== null }
    ingresses.set(id, next)
    return previous?.domain !== next.domain || previous.managed !== next.managed
  }

  function compile(): void {
    scheduled = undefined
    try {
      compiled = compileZones(
        buildZones({
          base,
          addresses,
          regions: inputs.regions(),
          ingresses: [...ingresses.values()],
          challenges: inputs.dnsChallenges(),
          caa: inputs.caaIdentities(),
          serial,
        }),
      )
    } catch (error) {
      // The previous table stays in use: one bad record must not take down all zones.
      log.error({ err: error }, 'DNS zones not compiled')
    }
  }

  /** Coalesces simultaneous changes into one compilation. */
  function scheduleCompile(revision: number): void {
    serial = Math.max(serial, revision)
    scheduled ??= setImmediate(compile)
  }

  return {
    table: () => compiled,
    async start() {
      subscriptions = [
        inputs.watch(scheduleCompile),
        await store.follow(FOLLOWED_KINDS, {
          reset(rows, revision) {
            ingresses.clear()
            for (const row of rows) applyIngress(row.id, row)
            serial = Math.max(serial, revision)
            compile()
          },
          change(changes) {
            const visible = changes.filter(({ id, row }) => applyIngress(id, row))
            if (visible.length > 0) scheduleCompile(visible.at(-1)!.revision)
          },
        }),
      ]
    },
    async stop() {
      for (const subscription of subscriptions.splice(0)) subscription.stop()
      if (scheduled !== undefined) clearImmediate(scheduled)
      scheduled = undefined
    },
  }
}
