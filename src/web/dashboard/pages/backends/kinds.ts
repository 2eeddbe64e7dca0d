import type { BackendKind } from '../resources.ts'

/** How a kind of backend is spoken of. */
export interface KindText {
  readonly title: string
  readonly summary: string
}

/** Every kind, those first that are made most often. */
export const BACKEND_KIND_TEXTS: Readonly<Record<BackendKind, KindText>> = {
  tunnel_group: {
    title: 'Tunnel group',
    summary: 'All agents online whose tunnel has the labels you choose; they take turns.',
  },
  weighted: { title: 'Weighted', summary: 'Shares requests among other backends, each by its weight.' },
  failover: { title: 'Failover', summary: 'Asks the first of several backends that can be reached.' },
  http_response: { title: 'Fixed answer', summary: 'The same status, headers and text for everybody.' },
  static: { title: 'Fixed address', summary: 'A host and port that the server itself can reach.' },
}

export const KIND_ORDER = Object.keys(BACKEND_KIND_TEXTS) as BackendKind[]
