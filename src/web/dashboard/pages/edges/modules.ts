import type { EdgeKind, ModuleSettings, Ref } from '../resources.ts'

/** How a module is spoken of to people. */
export interface ModuleWords {
  readonly title: string
  /** What it does, as the end of the sentence "This module …". */
  readonly does: string
  /** Its settings in a few words. */
  readonly brief: (settings: ModuleSettings) => string
}

const many = (count: number, one: string, several = `${one}s`) => `${count} ${count === 1 ? one : several}`
const refs = (value: unknown) => (Array.isArray(value) ? (value as Ref[]) : [])
const list = (value: unknown) => (Array.isArray(value) ? (value as unknown[]) : [])
const size = (value: unknown) => Object.keys((value as object | null) ?? {}).length
const hostOf = (url: unknown) => String(url ?? '').replace(/^https?:\/\//, '')

function headersBrief({ add, remove }: ModuleSettings): string {
  const words = [
    size(add) > 0 ? `adds ${size(add)}` : '',
    list(remove).length > 0 ? `removes ${list(remove).length}` : '',
  ].filter(Boolean)
  return words.join(', ') || 'changes nothing yet'
}

/** Every module, by its name in the API. */
export const MODULES = {
  ip_restriction: {
    title: 'IP restriction',
    does: 'lets in only addresses that IP policies allow',
    brief: ({ ip_policies }) => many(refs(ip_policies).length, 'policy', 'policies'),
  },
  mutual_tls: {
    title: 'Client certificates',
    does: 'lets in only visitors that show a certificate of an authority you chose',
    brief: ({ certificate_authorities }) =>
      many(refs(certificate_authorities).length, 'authority', 'authorities'),
  },
  tls_termination: {
    title: 'TLS settings',
    does: 'says where TLS ends and from which version on it is spoken',
    brief: ({ terminate_at, min_version }) =>
      terminate_at === 'upstream'
        ? 'ends at the upstream'
        : `ends here, ${min_version === '1.3' ? '1.3 only' : '1.2 or newer'}`,
  },
  user_agent_filter: {
    title: 'User-Agent filter',
    does: 'lets in or keeps out programs by their User-Agent',
    brief: ({ allow, deny }) => `${list(allow).length} allowed, ${list(deny).length} denied`,
  },
  webhook_verification: {
    title: 'Webhook verification',
    does: 'lets in only webhooks that are signed by the service they claim to come from',
    brief: ({ provider }) => String(provider ?? ''),
  },
  oauth: {
    title: 'Sign-in with OAuth',
    does: 'asks visitors to sign in with an account of Google, GitHub and others',
    brief: ({ provider }) =>
      Object.entries((provider as object | null) ?? {}).find(([, value]) => value !== null)?.[0] ?? '',
  },
  oidc: {
    title: 'Sign-in with OpenID',
    does: 'asks visitors to sign in at your OpenID provider',
    brief: ({ issuer }) => hostOf(issuer),
  },
  saml: {
    title: 'Sign-in with SAML',
    does: 'asks visitors to sign in at your SAML identity provider',
    brief: ({ idp_metadata_url }) => hostOf(idp_metadata_url) || 'with metadata you gave',
  },
  compression: {
    title: 'Compression',
    does: 'compresses answers for visitors that accept it',
    brief: () => 'Brotli, gzip, deflate',
  },
  response_headers: {
    title: 'Response headers',
    does: 'adds and removes headers of the answer',
    brief: headersBrief,
  },
  request_headers: {
    title: 'Request headers',
    does: 'adds and removes headers of the request before the backend sees it',
    brief: headersBrief,
  },
  circuit_breaker: {
    title: 'Circuit breaker',
    does: 'stops asking a backend that keeps failing, for a while',
    brief: ({ error_threshold_percentage }) =>
      `opens at ${Math.round(Number(error_threshold_percentage) * 100)} % errors`,
  },
  websocket_tcp_converter: {
    title: 'WebSocket to TCP',
    does: 'turns WebSocket connections into plain TCP towards the backend',
    brief: () => 'binary frames become bytes',
  },
} as const satisfies Record<string, ModuleWords>

export type ModuleName = keyof typeof MODULES

/** What a module says of itself in a few words. */
export function briefOf(name: ModuleName, settings: ModuleSettings): string {
  const words: ModuleWords = MODULES[name]
  return words.brief(settings)
}

/** Modules of the edge itself, in the order in which they act. */
export const EDGE_MODULES: Readonly<Record<EdgeKind, readonly ModuleName[]>> = {
  https: ['tls_termination', 'mutual_tls'],
  tls: ['ip_restriction', 'tls_termination', 'mutual_tls'],
  tcp: ['ip_restriction'],
}

/** Modules of a route of an HTTPS edge, in the order in which a request passes them. */
export const ROUTE_MODULES: readonly ModuleName[] = [
  'ip_restriction',
  'user_agent_filter',
  'webhook_verification',
  'oauth',
  'oidc',
  'saml',
  'compression',
  'response_headers',
  'request_headers',
  'circuit_breaker',
  'websocket_tcp_converter',
]

/** Only one of these can be on at a time. */
export const SIGN_INS: readonly ModuleName[] = ['oauth', 'oidc', 'saml']
