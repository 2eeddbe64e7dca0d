/** The phases of a policy, in the order in which traffic passes them. */
export const PHASES = [
  'on_tcp_connect',
  'on_http_request',
  'on_http_response',
  'on_event_stream_message',
] as const

export type PhaseName = (typeof PHASES)[number]

export type PolicyProtocol = 'http' | 'https' | 'tcp' | 'tls'

/** What a policy is attached to. */
export interface Attachment {
  readonly protocol: PolicyProtocol
  /** An agent's endpoint, a cloud endpoint, a route of an HTTPS edge, or a TCP or TLS edge. */
  readonly place: 'endpoint' | 'cloud' | 'route' | 'edge'
}

export const isHttp = ({ protocol }: Attachment): boolean => protocol === 'http' || protocol === 'https'
