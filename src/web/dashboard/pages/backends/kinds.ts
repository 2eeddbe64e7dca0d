import type { BackendKind } from '../resources.ts'

/** The texts of a backend kind. */
export interface KindText {
  readonly title: string
  readonly summary: string
}

/** Every backend kind, the most common first. */
export const BACKEND_KIND_TEXTS: Readonly<Record<BackendKind, KindText>> = {
  tunnel_group: {
    title: 'Tunnel group',
    summary: 'All online tunnels with the labels you choose, in round-robin order.',
  },
  weighted: { title: 'Weighted', summary: 'Splits requests among other backends by weight.' },
  failover: {
    title: 'Failover',
    summary: 'Tries several backends in order and uses the first one it can reach.',
  },
  http_response: { title: 'Fixed response', summary: 'The same status, headers and body for every request.' },
  static: { title: 'Fixed address', summary: 'A host and port that the server can reach.' },
}

export const KIND_ORDER = Object.keys(BACKEND_KIND_TEXTS) as BackendKind[]
