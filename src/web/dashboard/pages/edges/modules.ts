import type { EdgeKind, ModuleSettings, Ref } from '../resources.ts'

/** The texts of a module. */
export interface ModuleText {
  readonly title: string
  /** Completes the sentence "This module …". */
  readonly action: string
  /** A short summary of its settings. */
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
    action: 'admits only addresses that its IP policies allow',
    summary: ({ ip_policies }) => plural(refs(ip_policies).length, 'policy', 'policies'),
  },
  mutual_tls: {
    title: 'Client certificates',
    action: 'admits only visitors with a client certificate from an authority you choose',
    summary: ({ certificate_authorities }) =>
      plural(refs(certificate_authorities).length, 'authority', 'authorities'),
  },
  tls_termination: {
    title: 'TLS settings',
    action: 'sets where TLS terminates and the minimum version',
    summary: ({ terminate_at, min_version }) =>
      terminate_at === 'upstream'
        ? 'terminates upstream'
        : `terminates at the edge, ${min_version === '1.3' ? 'TLS 1.3' : 'TLS 1.2 or later'}`,
  },
  user_agent_filter: {
    title: 'User-Agent filter',
    action: 'allows or denies clients by their User-Agent',
    summary: ({ allow, deny }) => `${list(allow).length} allowed, ${list(deny).length} denied`,
  },
  webhook_verification: {
    title: 'Webhook verification',
    action: 'admits only webhooks signed by the service they claim to come from',
    summary: ({ provider }) => String(provider ?? ''),
  },
  oauth: {
    title: 'Sign-in with OAuth',
    action: 'requires visitors to sign in with Google, GitHub or another provider',
    summary: ({ provider }) =>
      Object.entries((provider as object | null) ?? {}).find(([, value]) => value !== null)?.[0] ?? '',
  },
  oidc: {
    title: 'Sign-in with OpenID',
    action: 'requires visitors to sign in with your OpenID provider',
    summary: ({ issuer }) => hostOf(issuer),
  },
  saml: {
    title: 'Sign-in with SAML',
    action: 'requires visitors to sign in with your SAML identity provider',
    summary: ({ idp_metadata_url }) => hostOf(idp_metadata_url) || 'inline metadata',
  },
  compression: {
    title: 'Compression',
    action: 'compresses responses for clients that accept it',
    summary: () => 'Brotli, gzip, deflate',
  },
  response_headers: {
    title: 'Response headers',
    action: 'adds and removes response headers',
    summary: summarizeHeaders,
  },
  request_headers: {
    title: 'Request headers',
    action: 'adds and removes request headers before the backend sees them',
    summary: summarizeHeaders,
  },
  circuit_breaker: {
    title: 'Circuit breaker',
    action: 'stops sending requests to a failing backend for a while',
    summary: ({ error_threshold_percentage }) =>
      `opens at ${Math.round(Number(error_threshold_percentage) * 100)} % errors`,
  },
  websocket_tcp_converter: {
    title: 'WebSocket to TCP',
    action: 'converts WebSocket connections to plain TCP towards the backend',
    summary: () => 'binary frames to bytes',
  },
} as const satisfies Record<string, ModuleText>

export type ModuleName = keyof typeof MODULES

/** Summarizes the settings of a module. */
export function summarizeModule(name: ModuleName, settings: ModuleSettings): string {
  const text: ModuleText = MODULES[name]
  return text.summary(settings)
}

/** Edge modules, in the order in which they run. */
export const EDGE_MODULES: Readonly<Record<EdgeKind, readonly ModuleName[]>> = {
  https: ['tls_termination', 'mutual_tls'],
  tls: ['ip_restriction', 'tls_termination', 'mutual_tls'],
  tcp: ['ip_restriction'],
}

/** Route modules of an HTTPS edge, in the order in which they run. */
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

/** Sign-in modules; a route has at most one. */
export const SIGN_IN_MODULES: readonly ModuleName[] = ['oauth', 'oidc', 'saml']
