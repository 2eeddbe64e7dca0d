import { errorMessage } from '../base/text/error-message.ts'
import { parseEndpointUrl } from '../base/values/endpoint-url.ts'
import { MAX_WEIGHT } from '../base/values/weighted-round-robin.ts'
import { MAX_POLICY_BYTES } from './modules/traffic-policy.ts'
import { assigned, defineResource, editable, fixed, hidden, live } from './schema/define.ts'
import {
  choice,
  flag,
  integer,
  list,
  nullable,
  reference,
  references,
  required,
  secret,
  text,
  withDefault,
} from './schema/value.ts'

const url = text(2048, (value) => {
  try {
    parseEndpointUrl(value)
    return undefined
  } catch (error) {
    return `cannot be used: ${errorMessage(error)}`
  }
})

/**
 * An address that is online: of a tunnel, of an edge, or a cloud endpoint, which exists until it is deleted and answers by
 * its traffic policy alone. Only cloud endpoints are stored and can be created, changed and deleted.
 */
export const Endpoint = defineResource({
  name: 'endpoint',
  description: 'Public addresses that are online, served by agents, edges or cloud endpoints.',
  path: '/endpoints',
  prefix: 'ep',
  listKey: 'endpoints',
  event: 'endpoint',
  selectBy: ['id', 'url'],
  fields: {
    id: live(text(64), 'The unique ID.'),
    uri: live(text(2048), 'The address of this object in the API.'),
    created_at: live(text(64), 'When it was created, in RFC 3339 format.'),
    updated_at: assigned(text(64), 'When it last changed.'),
    region: live(text(16), 'The region of the server.'),
    type: fixed(
      withDefault(
        text(16, (value) => (value === 'cloud' ? undefined : 'must be cloud: the others cannot be created.')),
        'cloud',
      ),
      'Whether the endpoint belongs to an agent (ephemeral), to an edge, or is a cloud endpoint. Only cloud endpoints can be created.',
    ),
    proto: live(text(16), 'The protocol: http, https, tcp or tls.'),
    scheme: live(text(16), 'The scheme of the public URL.'),
    host: live(text(300), 'The public host name.'),
    port: live(integer(0, 65_535, 0), 'The public port.'),
    hostport: live(text(300), 'The public host name and port.'),
    public_url: live(text(2048), 'The public URL.'),
    url: editable(
      required(url),
      'The URL, such as https://app.example.com for a reserved domain, tcp://1.tcp.example.com:20000 for a reserved address or https://app.internal. The scheme of a cloud endpoint cannot be changed.',
      'https://app.example.com',
    ),
    bindings: editable(
      list(choice(['public', 'internal', 'kubernetes'], 'public'), { maxItems: 1 }),
      'Where the endpoint is reachable: by visitors (public), by traffic policies of the account (internal), or in Kubernetes clusters whose operator selects it (kubernetes). By default names below .internal are internal.',
    ),
    pooling_enabled: editable(
      flag(false),
      'Whether several endpoints, including those of agents, can share the URL.',
    ),
    pooling_weight: editable(
      integer(0, MAX_WEIGHT, 1),
      'Its share of the traffic where endpoints share the URL, relative to the others; from 0 to 10000. An endpoint with weight 0 gets traffic only while all others have weight 0 or are unreachable.',
      1,
    ),
    pools: live(
      references(['ep'], 'pool_ids'),
      'The other endpoints at this URL, at most 100; empty for an endpoint that does not pool.',
    ),
    name: live(text(255), 'The name of the endpoint.'),
    description: editable(text(255), 'What it is for. Shown in lists. At most 255 bytes.', 'My first one'),
    metadata: editable(text(4096), 'Free text for your own programs, often JSON. At most 4096 bytes.'),
    domain: assigned(
      nullable(reference(['rd'], 'domain_id')),
      'The reserved domain of the endpoint, if any.',
    ),
    tcp_addr: assigned(
      nullable(reference(['ra'], 'tcp_addr_id')),
      'The reserved address of the endpoint, if any.',
    ),
    tunnel: live(nullable(reference(['tn'], 'tunnel_id')), 'The tunnel of the endpoint; null for an edge.'),
    tunnel_session: live(nullable(reference(['ts'], 'tunnel_session_id')), 'The session of the tunnel.'),
    principal: live(
      nullable(reference(['usr', 'bot'], 'principal_id')),
      'The user or bot user that owns the endpoint.',
    ),
    edge: live(
      nullable(reference(['edghts', 'edgtls', 'edgtcp'], 'edge_id')),
      'The edge of the endpoint; null for an agent.',
    ),
    upstream_url: live(text(2048), 'The address that the agent forwards to.'),
    upstream_protocol: live(text(16), 'The protocol of the upstream service.'),
    traffic_policy: editable(
      required(secret(text(MAX_POLICY_BYTES), 'shown')),
      'The traffic policy, in YAML or JSON. The policy of a cloud endpoint must end every request or connection; other endpoints may have none.',
      'on_http_request: [{actions: [{type: deny}]}]',
    ),
    /** Tells the members of a pool apart: its id, or empty where it is alone at its URL. */
    member: hidden(text(64)),
  },
  chosen: ['bindings'],
  unique: ({ url, member }) => [
    {
      within: 'account',
      scope: 'endpoint_url',
      name: `${url} ${member}`,
      conflict: `There is a cloud endpoint at ${url} already.`,
    },
  ],
})
