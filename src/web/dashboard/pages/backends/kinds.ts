import type { BackendKind } from '../resources.ts'

/** How a kind of backend is spoken of. */
export interface KindWords {
  readonly title: string
  readonly does: string
}

/** Every kind, those first that are made most often. */
export const KINDS: Readonly<Record<BackendKind, KindWords>> = {
  tunnel_group: {
    title: 'Tunnel group',
    does: 'All agents online whose tunnel has the labels you choose; they take turns.',
  },
  weighted: { title: 'Weighted', does: 'Shares requests among other backends, each by its weight.' },
  failover: { title: 'Failover', does: 'Asks the first of several backends that can be reached.' },
  http_response: { title: 'Fixed answer', does: 'The same status, headers and text for everybody.' },
  static: { title: 'Fixed address', does: 'A host and port that the server itself can reach.' },
}

export const KIND_ORDER = Object.keys(KINDS) as BackendKind[]
