/** The phases of a policy, in the order in which traffic passes them. */
export const PHASES = [
  'on_tcp_connect',
  'on_http_request',
  'on_http_response',
  'on_event_stream_message',
] as const

/** When the rules of each phase run. */
export const PHASE_DESCRIPTIONS: Readonly<Record<PhaseName, string>> = {
  on_tcp_connect: 'A client has connected. The only phase of `tcp` and `tls` endpoints.',
  on_http_request: 'The headers of a request have arrived.',
  on_http_response:
    'The headers of the response have arrived, or `custom-response`, `deny` or `redirect` made one.',
  on_event_stream_message: 'A message of an event stream (`text/event-stream`) has arrived.',
}

export type PhaseName = (typeof PHASES)[number]

export type PolicyProtocol = 'http' | 'https' | 'tcp' | 'tls'

/** What a policy is attached to. */
export interface Attachment {
  readonly protocol: PolicyProtocol
  /** An agent's endpoint, a cloud endpoint, a route of an HTTPS edge, or a TCP or TLS edge. */
  readonly kind: 'endpoint' | 'cloud' | 'route' | 'edge'
}

export const isHttp = ({ protocol }: Pick<Attachment, 'protocol'>): boolean =>
  protocol === 'http' || protocol === 'https'
