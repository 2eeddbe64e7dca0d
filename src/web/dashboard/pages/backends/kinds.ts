/** A backend kind: the prefix of its ids, its icon and its texts. */
interface KindText {
  readonly prefix: string
  /** An SVG path on a 16 by 16 grid. */
  readonly icon: string
  readonly title: string
  readonly summary: string
}

/** Every backend kind, the most common first. */
export const BACKEND_KIND_TEXTS = {
  tunnel_group: {
    prefix: 'bkdtg',
    icon: 'M2 13V9a4 4 0 0 1 8 0v4M6 5.200A4 4 0 0 1 14 8v5M5 13V9.500a1 1 0 0 1 2 0V13',
    title: 'Tunnel group',
    summary: 'All online tunnels with the labels you choose, in round-robin order.',
  },
  weighted: {
    prefix: 'bkdwd',
    icon: 'M8 2v12M5 14h6M3 4.500h10M3 4.500 1.500 9h3zM13 4.500 11.500 9h3z',
    title: 'Weighted',
    summary: 'Splits requests among other backends by weight.',
  },
  failover: {
    prefix: 'bkdfo',
    icon: 'M3 3h4v3H3zM3 10h4v3H3zM9.500 4.500H13v7H9.500M11 10l-1.700 1.500L11 13',
    title: 'Failover',
    summary: 'Tries several backends in order and uses the first one it can reach.',
  },
  http_response: {
    prefix: 'bkdhr',
    icon: 'M4 1.800h5.500L12 4.500v9.700H4zM9 2v3h3M6 8h4M6 10.500h4',
    title: 'Fixed response',
    summary: 'The same status, headers and body for every request.',
  },
  static: {
    prefix: 'bkdsc',
    icon: 'M3 3h10v4H3zM3 9h10v4H3zM5.500 5h.010M5.500 11h.010',
    title: 'Fixed address',
    summary: 'A host and port that the server can reach.',
  },
} as const satisfies Record<string, KindText>

export type BackendKind = keyof typeof BACKEND_KIND_TEXTS

export const KIND_ORDER = Object.keys(BACKEND_KIND_TEXTS) as BackendKind[]

/** Every kind by the prefix of its ids. */
export const KIND_BY_PREFIX: Readonly<Record<string, BackendKind>> = Object.fromEntries(
  KIND_ORDER.map((kind) => [BACKEND_KIND_TEXTS[kind].prefix, kind]),
)

/** The kind of backend an id belongs to. */
export function backendKindOf(id: string): BackendKind | undefined {
  return KIND_BY_PREFIX[id.slice(0, id.indexOf('_'))]
}
