import type { Logger } from '../base/log.ts'
import type { Row, Store } from '../store/index.ts'
import { compileZones, type ZoneTable } from './zone.ts'
import { type ZoneSnapshot, zonesOf } from './zones.ts'

/** What the zones need to know from whoever manages certificates and regions. */
export interface ZoneInputs {
  regions(): ZoneSnapshot['regions']
  dnsChallenges(): ZoneSnapshot['challenges']
  caaIdentities(): readonly string[]
  /** Calls back after any of the above has changed, with the store's revision by then. */
  watch(changed: (revision: number) => void): { stop(): void }
}

/** The platform's zones, always as the store has them. */
export interface Zones {
  table(): ZoneTable
  start(): Promise<void>
  stop(): Promise<void>
}

const KINDS = ['agent_ingresses']

/** Follows the store and compiles the zones anew whenever something they are made of has changed. */
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
  let due: NodeJS.Immediate | undefined
  let stops: { stop(): void }[] = []

  /** Answers whether the row has changed anything that DNS shows; a certificate's progress, for one, does not. */
  function take(id: string, row: Row | undefined): boolean {
    const before = ingresses.get(id)
    if (row === undefined) return ingresses.delete(id)
    const { domain, certificate_management_policy: policy } = row.data
    const after = { domain: domain as string, account: row.account, managed: policy !== null }
    ingresses.set(id, after)
    return before?.domain !== after.domain || before.managed !== after.managed
  }

  function compile(): void {
    due = undefined
    try {
      compiled = compileZones(
        zonesOf({
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
      // What was served goes on being served: one bad record must not silence all zones.
      log.error({ err: error }, 'the DNS zones could not be compiled')
    }
  }

  /** Many changes of one moment make one compilation. */
  function changed(revision: number): void {
    serial = Math.max(serial, revision)
    due ??= setImmediate(compile)
  }

  return {
    table: () => compiled,
    async start() {
      stops = [
        inputs.watch(changed),
        await store.follow(KINDS, {
          reset(rows, revision) {
            ingresses.clear()
            for (const row of rows) take(row.id, row)
            serial = Math.max(serial, revision)
            compile()
          },
          change(changes) {
            const shown = changes.filter(({ id, row }) => take(id, row))
            if (shown.length > 0) changed(shown.at(-1)!.revision)
          },
        }),
      ]
    },
    async stop() {
      for (const each of stops.splice(0)) each.stop()
      if (due !== undefined) clearImmediate(due)
      due = undefined
    },
  }
}
