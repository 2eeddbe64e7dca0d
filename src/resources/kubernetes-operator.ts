import { author } from './author.ts'
import { assigned, common, defineResource, editable } from './schema/define.ts'
import {
  byService,
  described,
  list,
  mergingUpdates,
  nullable,
  object,
  parsed,
  text,
  withDefault,
} from './schema/value.ts'

const FEATURES = ['ingress', 'gateway', 'bindings']

const feature = parsed(32, (value) => {
  const name = value.toLowerCase()
  if (FEATURES.includes(name)) return name
  throw new Error(`"${value}" is not a feature; there are ${FEATURES.join(', ')}.`)
})

const cert = object(
  {
    cert: described(text(16_384), 'The certificate, in PEM. It names the operator.'),
    not_before: described(text(64), 'From when it is valid, in RFC 3339 format.'),
    not_after: described(text(64), 'Until when it is valid, in RFC 3339 format.'),
  },
  { name: 'operator certificate' },
)

const binding = object(
  {
    endpoint_selectors: described(
      list(text(1024), { maxItems: 50 }),
      'CEL expressions such as endpoint.proto == "https", over the fields of an endpoint in the API. An endpoint with the binding kubernetes is bound to the cluster if one of them is true.',
      ['endpoint.metadata.contains("blue")'],
    ),
    csr: described(
      text(16_384),
      'The certificate signing request of the operator, in PEM. A new request gets a new certificate, which immediately replaces the previous one.',
    ),
    cert: described(
      byService(nullable(cert)),
      'The certificate with which the operator connects to `ingress_endpoint`; null without `csr`.',
    ),
    ingress_endpoint: described(
      byService(text(300)),
      'Where the operator connects for the clients in its cluster: a host and a port. Empty where the server has no HTTPS listener.',
    ),
  },
  { name: 'operator binding' },
)

const deployment = object(
  {
    name: described(text(255), 'The name of the deployment.', 'adit-operator'),
    namespace: described(text(255), 'The namespace of the deployment.', 'adit-operator'),
    version: described(text(255), 'The version of the operator.', '0.19.0'),
    cluster_name: described(text(255), 'The name of the cluster.', 'production'),
  },
  { name: 'operator deployment' },
)

/** The registration of a Kubernetes operator: a program in a cluster that manages endpoints and domains for it. */
export const KubernetesOperator = defineResource({
  name: 'Kubernetes operator',
  description: 'Operators in Kubernetes clusters that manage endpoints for them.',
  path: '/kubernetes_operators',
  prefix: 'k8sop',
  listKey: 'operators',
  event: 'kubernetes_operator',
  fields: {
    ...common,
    updated_at: assigned(text(64), 'When it last changed.'),
    principal: assigned(author('principal_id'), 'The user or bot user who registered it.'),
    enabled_features: editable(
      list(feature, { maxItems: 10 }),
      'What the operator does in its cluster: ingress, gateway, bindings.',
      ['ingress', 'gateway'],
    ),
    region: editable(withDefault(text(16), 'global'), 'The region that the operator connects to.'),
    deployment: editable(mergingUpdates(deployment), 'Where the operator runs.'),
    binding: editable(
      nullable(mergingUpdates(binding)),
      'Which endpoints are bound to the cluster. Without it, none are.',
    ),
  },
})
