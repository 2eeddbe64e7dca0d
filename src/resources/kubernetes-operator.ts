import { Type } from 'typebox'
import { author } from './author.ts'
import { assigned, common, defineResource, editable, fixed, live } from './define.ts'
import { described, list, object, parsed, plain, text, withDefault } from './value.ts'

const FEATURES = ['ingress', 'gateway']

const feature = parsed(32, (value) => {
  const name = value.toLowerCase()
  if (FEATURES.includes(name)) return name
  throw new Error(
    name === 'bindings'
      ? 'the feature bindings is not supported: endpoints cannot be bound to a cluster. Install the operator without it.'
      : `"${value}" is not a feature; there are ${FEATURES.join(' and ')}.`,
  )
})

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
      'What the operator does in its cluster: ingress, gateway, or both.',
      ['ingress', 'gateway'],
    ),
    region: editable(withDefault(text(16), 'global'), 'The region that the operator connects to.'),
    deployment: fixed(deployment, 'Where the operator runs.'),
    binding: live(
      plain<null>(Type.Null(), null),
      'Endpoints that are bound to the cluster; always null, because endpoints cannot be bound to clusters.',
    ),
  },
})
