import type { Row } from '../../store/index.ts'
import { recordOf } from '../../store/index.ts'
import type { DeliveryTarget, TargetContext } from '../target.ts'
import { createTarget } from '../targets/kinds.ts'

/** The kind of their rows. */
export const DESTINATIONS = 'event_destinations'

/** What the targets of all destinations share. */
export type SharedTargetContext = Omit<TargetContext, 'accountId' | 'destinationId'>

/** One destination in its current configuration. */
export interface Destination {
  readonly id: string
  readonly account: string
  readonly revision: number
  /** Created on first use; throws when the settings are invalid. */
  target(): DeliveryTarget
}

/** All destinations by id; each revision creates its target once. */
export class Destinations {
  readonly #context: SharedTargetContext
  readonly #destinations = new Map<string, Destination>()

  constructor(context: SharedTargetContext) {
    this.#context = context
  }

  get(id: string): Destination | undefined {
    return this.#destinations.get(id)
  }

  set(row: Row<typeof DESTINATIONS>): Destination {
    let target: DeliveryTarget | undefined
    const destination: Destination = {
      id: row.id,
      account: row.account,
      revision: row.revision,
      target: () => {
        target ??= createTarget(recordOf(row).target, {
          ...this.#context,
          accountId: row.account,
          destinationId: row.id,
        })
        return target
      },
    }
    this.#destinations.set(row.id, destination)
    return destination
  }

  remove(id: string): void {
    this.#destinations.delete(id)
  }

  clear(): void {
    this.#destinations.clear()
  }
}
