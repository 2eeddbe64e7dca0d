import type { Ref } from '../../../../api-client/index.ts'
import { labelOf } from '../../form/labels.ts'
import type { EdgeKind, ModuleSettings } from '../resources.ts'

/** The icon and the texts of a module. */
export interface ModuleText {
  /** An SVG path on a 16 by 16 grid. */
  readonly icon: string
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

/** Every module, by its name in the API, in the order in which they run. */
export const MODULES = {
  ip_restriction: {
    icon: 'M8 1.800 13 4v4c0 3-2 5-5 6.200C5 13 3 11 3 8V4zM5.800 8l1.600 1.600 3-3.200',
    title: 'IP restriction',
    action: 'admits only addresses that its IP policies allow',
    summary: ({ ip_policies }) => plural(refs(ip_policies).length, 'policy', 'policies'),
  },
  mutual_tls: {
    icon: 'M3 3h10v7H3zM5.500 6h5M8 10v4l-1.500-1M8 14l1.500-1',
    title: 'Client certificates',
    action: 'admits only visitors with a client certificate from an authority you choose',
    summary: ({ certificate_authorities }) =>
      plural(refs(certificate_authorities).length, 'authority', 'authorities'),
  },
  tls_termination: {
    icon: 'M4 7h8v6.500H4zM5.500 7V5a2.500 2.500 0 0 1 5 0v2',
    title: 'TLS settings',
    action: 'sets where TLS terminates and the minimum version',
    summary: ({ terminate_at, min_version }) =>
      terminate_at === 'upstream'
        ? 'terminates upstream'
        : `terminates at the edge, ${min_version === '1.3' ? 'TLS 1.3' : 'TLS 1.2 or later'}`,
  },
  user_agent_filter: {
    icon: 'M2 3h12l-4.500 5.500V13l-3 1V8.500z',
    title: 'User-Agent filter',
    action: 'allows or denies clients by their User-Agent',
    summary: ({ allow, deny }) => `${list(allow).length} allowed, ${list(deny).length} denied`,
  },
  webhook_verification: {
    icon: 'M5 9.500a2.500 2.500 0 1 0 2 4L8 11h3.500M10.700 7.200a2.600 2.600 0 1 1-1.500 4.300M8 4.500 5.800 8.800M5.500 5.500a2.500 2.500 0 1 1 5-.500',
    title: 'Webhook verification',
    action: 'admits only webhooks signed by the service they claim to come from',
    summary: ({ provider }) => labelOf(String(provider ?? '')),
  },
  jwt_validation: {
    icon: 'M8 1.500 13.500 4v4c0 3-2.300 5.500-5.500 6.500C4.800 13.500 2.500 11 2.500 8V4zM5.500 8l2 2 3-4',
    title: 'JSON Web Tokens',
    action: 'admits only requests with a valid token from an issuer you trust',
    summary: ({ issuer }) =>
      list((issuer as { allow_list?: unknown } | undefined)?.allow_list)
        .map((item) => String((item as { value?: unknown }).value))
        .join(', '),
  },
  oauth: {
    icon: 'M10.500 6.500a3 3 0 1 0-2.300 2.900L9.500 11H11v1.500h1.500V14H14v-2l-3.900-3.900',
    title: 'Sign-in with OAuth',
    action: 'requires visitors to sign in with Google, GitHub or another provider',
    summary: ({ provider }) =>
      labelOf(
        Object.entries((provider as object | null) ?? {}).find(([, value]) => value !== null)?.[0] ?? '',
      ),
  },
  oidc: {
    icon: 'M10.500 6.500a3 3 0 1 0-2.300 2.900L9.500 11H11v1.500h1.500V14H14v-2l-3.900-3.900',
    title: 'Sign-in with OpenID',
    action: 'requires visitors to sign in with your OpenID provider',
    summary: ({ issuer }) => hostOf(issuer),
  },
  saml: {
    icon: 'M10.500 6.500a3 3 0 1 0-2.300 2.900L9.500 11H11v1.500h1.500V14H14v-2l-3.900-3.900',
    title: 'Sign-in with SAML',
    action: 'requires visitors to sign in with your SAML identity provider',
    summary: ({ idp_metadata_url }) => hostOf(idp_metadata_url) || 'inline metadata',
  },
  compression: {
    icon: 'M8 1.500v4M6 4l2 2 2-2M8 14.500v-4M6 12l2-2 2 2M2.500 8h11',
    title: 'Compression',
    action: 'compresses responses for clients that accept it',
    summary: () => 'Brotli, gzip, deflate',
  },
  response_headers: {
    icon: 'M6.500 4h7M8.500 8h5M6.500 12h7M5 8H1.500M3.200 6 1 8l2.200 2',
    title: 'Response headers',
    action: 'adds and removes response headers',
    summary: summarizeHeaders,
  },
  request_headers: {
    icon: 'M2.500 4h7M2.500 8h5M2.500 12h7M11 8h3.500M12.800 6 15 8l-2.200 2',
    title: 'Request headers',
    action: 'adds and removes request headers before the backend sees them',
    summary: summarizeHeaders,
  },
  circuit_breaker: {
    icon: 'M9 1.500 4 9h4l-1 5.500L12 7H8z',
    title: 'Circuit breaker',
    action: 'stops sending requests to a failing backend for a while',
    summary: ({ error_threshold_percentage }) =>
      `opens at ${Math.round(Number(error_threshold_percentage) * 100)} % errors`,
  },
  traffic_policy: {
    icon: 'M3 2.500h7l3 3v8H3zM10 2.500v3h3M5.500 8h5M5.500 10.500h3',
    title: 'Traffic policy',
    action: 'runs the rules of a policy: deny, redirect, rewrite, limit, sign in and more',
    summary: ({ value }) => plural(String(value ?? '').split('\n').length, 'line'),
  },
  websocket_tcp_converter: {
    icon: 'M2 5.500h10L9.500 3M14 10.500H4L6.500 13',
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
  tls: ['ip_restriction', 'tls_termination', 'mutual_tls', 'traffic_policy'],
  tcp: ['ip_restriction', 'traffic_policy'],
}

/** Route modules of an HTTPS edge, in the order in which they run: all but those of the edge itself. */
export const ROUTE_MODULES = (Object.keys(MODULES) as ModuleName[]).filter(
  (name) => !EDGE_MODULES.https.includes(name),
)

/** Sign-in modules; a route has at most one. */
export const SIGN_IN_MODULES: readonly ModuleName[] = ['oauth', 'oidc', 'saml']
