import type { BackendKind } from '../resources.ts'
import type { ModuleName } from './modules.ts'

type Name = ModuleName | BackendKind | 'visitor' | 'entrance' | 'route' | 'tunnel' | 'add'

/** SVG paths on a 16 by 16 grid. */
const STROKES: Readonly<Record<Name, string>> = {
  visitor: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14c.6-3 2.8-4.5 5.500-4.500S12.900 11 13.500 14',
  entrance: 'M2.500 14V8a5.500 5.500 0 0 1 11 0v6M5.500 14V8.500a2.500 2.500 0 0 1 5 0V14',
  route: 'M3 13V9a3 3 0 0 1 3-3h7M10 3l3 3-3 3',
  tls_termination: 'M4 7h8v6.500H4zM5.500 7V5a2.500 2.500 0 0 1 5 0v2',
  mutual_tls: 'M3 3h10v7H3zM5.500 6h5M8 10v4l-1.500-1M8 14l1.500-1',
  ip_restriction: 'M8 1.800 13 4v4c0 3-2 5-5 6.200C5 13 3 11 3 8V4zM5.800 8l1.600 1.600 3-3.200',
  user_agent_filter: 'M2 3h12l-4.500 5.500V13l-3 1V8.500z',
  webhook_verification:
    'M5 9.500a2.500 2.500 0 1 0 2 4L8 11h3.500M10.700 7.200a2.600 2.600 0 1 1-1.500 4.300M8 4.500 5.800 8.800M5.500 5.500a2.500 2.500 0 1 1 5-.500',
  oauth: 'M10.500 6.500a3 3 0 1 0-2.300 2.900L9.500 11H11v1.500h1.500V14H14v-2l-3.900-3.900',
  oidc: 'M10.500 6.500a3 3 0 1 0-2.300 2.900L9.500 11H11v1.500h1.500V14H14v-2l-3.900-3.900',
  saml: 'M10.500 6.500a3 3 0 1 0-2.300 2.900L9.500 11H11v1.500h1.500V14H14v-2l-3.900-3.900',
  compression: 'M8 1.500v4M6 4l2 2 2-2M8 14.500v-4M6 12l2-2 2 2M2.500 8h11',
  request_headers: 'M2.500 4h7M2.500 8h5M2.500 12h7M11 8h3.500M12.800 6 15 8l-2.200 2',
  response_headers: 'M6.500 4h7M8.500 8h5M6.500 12h7M5 8H1.500M3.200 6 1 8l2.200 2',
  circuit_breaker: 'M9 1.500 4 9h4l-1 5.500L12 7H8z',
  websocket_tcp_converter: 'M2 5.500h10L9.500 3M14 10.500H4L6.500 13',
  http_response: 'M4 1.800h5.500L12 4.500v9.700H4zM9 2v3h3M6 8h4M6 10.500h4',
  tunnel_group: 'M2 13V9a4 4 0 0 1 8 0v4M6 5.200A4 4 0 0 1 14 8v5M5 13V9.500a1 1 0 0 1 2 0V13',
  weighted: 'M8 2v12M5 14h6M3 4.500h10M3 4.500 1.500 9h3zM13 4.500 11.500 9h3z',
  failover: 'M3 3h4v3H3zM3 10h4v3H3zM9.500 4.500H13v7H9.500M11 10l-1.700 1.500L11 13',
  static: 'M3 3h10v4H3zM3 9h10v4H3zM5.500 5h.010M5.500 11h.010',
  tunnel: 'M3 13.500V8a5 5 0 0 1 10 0v5.500M8 10.500v3',
  add: 'M8 3v10M3 8h10',
}

/** A decorative icon, hidden from assistive technology. */
export function Icon({ name }: { name: Name }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={STROKES[name]} />
    </svg>
  )
}
