import type { AddressInfo } from 'node:net'

/** What the new release sends to the running one, which has started it. */
export type MessageToPredecessor =
  /** Where does it listen under this name? */
  | { readonly addressOf: string; readonly id: number }
  /** Asks for the listener of this name. */
  | { readonly take: string; readonly id: number }
  /** It accepts connections at all listeners. */
  | { readonly ready: { readonly version: string } }
  /** Its start failed, for this reason. */
  | { readonly failed: string }

/** The answer to one message; that to `take` comes with the listener. */
export interface MessageToSuccessor {
  readonly id: number
  readonly address?: AddressInfo | undefined
}
