import type { AddressInfo } from 'node:net'

/** What the new release asks of the running one, by the name of a listener. */
export type ListenerQuestion = ListenerRequest & {
  /** The answer carries it. */
  readonly id: number
}

export type ListenerRequest = (
  | /** Where does it listen under this name? */ { readonly addressOf: string }
  /** Asks for the listener of this name. */
  | { readonly take: string }
) & {
  /** The number of the worker whose listener is meant; undefined for the process itself. */
  readonly worker?: number | undefined
}

/** The answer to one question; that to `take` comes with the listener. */
export interface ListenerAnswer {
  readonly id: number
  readonly address?: AddressInfo | undefined
}

/** What the new release sends to the running one, which has started it. */
export type MessageToPredecessor =
  | ListenerQuestion
  /** It accepts connections at all listeners. */
  | { readonly ready: { readonly version: string } }
  /** Its start failed, for this reason. */
  | { readonly failed: string }
