import type { EdgeKind, ModuleSettings, Ref } from '../resources.ts'

/** How a module is spoken of to people. */
export interface ModuleText {
  readonly title: string
  /** What it does, as the end of the sentence "This module …". */
  readonly action: string
  /** Its settings in a few words. */
  readonly summary: (settings: ModuleSettings) => string
}

const plural = (count: number, one: string, several = `${one}s`) => `${count} ${count === 1 ? one : several}`
const refs = (value: unknown) => (Array.isArray(value) ? (value as Ref[]) : [])
const list = (value: unknown) => (Array.isArray(value) ? (value as unknown[]) : [])
const size = (value: unknown) => Object.keys((value as object | null) ?? {}).length
const hostOf = (url: unknown) => String(url ?? '').replace(/^https?:\/\//, '')

function summarizeHeaders({ add, remove }: ModuleSettings): string {
  const parts = [
    size(add) > 0 ? `adds ${size(add)}` : '',
    list(remove).length > 0 ? `removes ${list(remove).length}` : '',
  ].filter(Boolean)
  return parts.join(', ') || 'changes nothing yet'
}

/** Every module, by its name in the API. */
export const MODULES = {
  ip_restriction: {
    title: 'IP restriction',
    action: 'lets in only addresses that IP policies allow',
    summary: ({ ip_policies }) => plural(refs(ip_policies).length, 'policy', 'policies'),
  },
  mutual_tls: {
    title: 'Client certificates',
    action: 'lets in only visitors that show a certificate of an authority you chose',
    summary: ({ certificate_authorities }) =>
      plural(refs(certificate_authorities).length, 'authority', 'authorities'),
  },
  tls_termination: {
    title: 'TLS settings',
    action: 'says where TLS ends and from which version on it is spoken',
    summary: ({ terminate_at, min_version }) =>
      terminate_at === 'upstream'
        ? 'ends at the upstream'
        : `ends here, ${min_version === '1.3' ? '1.3 only' : '1.2 or newer'}`,
  },
  user_agent_filter: {
    title: 'User-Agent filter',
    action: 'lets in or keeps out programs by their User-Agent',
    summary: ({ allow, deny }) => `${list(allow).length} allowed, ${list(deny).length} denied`,
  },
  webhook_verification: {
    title: 'Webhook verification',
    action: 'lets in only webhooks that are signed by the service they claim to come from',
    summary: ({ provider }) => String(provider ?? ''),
  },
  oauth: {
    title: 'Sign-in with OAuth',
    action: 'asks visitors to sign in with an account of Google, GitHub and others',
    summary: ({ provider }) =>
      Object.entries((provider as object | null) ?? {}).find(([, value]) => value !== null)?.[0] ?? '',
  },
  oidc: {
    title: 'Sign-in with OpenID',
    action: 'asks visitors to sign in at your OpenID provider',
    summary: ({ issuer }) => hostOf(issuer),
  },
  saml: {
    title: 'Sign-in with SAML',
    action: 'asks visitors to sign in at your SAML identity provider',
    summary: ({ idp_metadata_url }) => hostOf(idp_metadata_url) || 'with metadata you gave',
  },
  compression: {
    title: 'Compression',
    action: 'compresses answers for visitors that accept it',
    summary: () => 'Brotli, gzip, deflate',
  },
  response_headers: {
    title: 'Response headers',
    action: 'adds and removes headers of the answer',
    summary: summarizeHeaders,
  },
  request_headers: {
    title: 'Request headers',
    action: 'adds and removes headers of the request before the backend sees it',
    summary: summarizeHeaders,
  },
  circuit_breaker: {
    title: 'Circuit breaker',
    action: 'stops asking a backend that keeps failing, for a while',
    summary: ({ error_threshold_percentage }) =>
      `opens at ${Math.round(Number(error_threshold_percentage) * 100)} % errors`,
  },
  websocket_tcp_converter: {
    title: 'WebSocket to TCP',
    action: 'turns WebSocket connections into plain TCP towards the backend',
    summary: () => 'binary frames become bytes',
  },
} as const satisfies Record<string, ModuleText>

export type ModuleName = keyof typeof MODULES

/** What a module says of itself in a few words. */
export function summarizeModule(name: ModuleName, settings: ModuleSettings): string {
  const text: ModuleText = MODULES[name]
  return text.summary(settings)
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
export const SIGN_IN_MODULES: readonly ModuleName[] = ['oauth', 'oidc', 'saml']
