import { oneSignIn } from './edge-fields.ts'
import { configurationModules } from './modules/index.ts'
import { common, defineResource, fixed } from './schema/define.ts'
import { moduleFields } from './schema/module.ts'
import { choice, required } from './schema/value.ts'

type ModuleName = keyof typeof configurationModules

const TLS_MODULES: readonly ModuleName[] = ['mutual_tls', 'tls_termination']
const CONNECTION_MODULES: readonly ModuleName[] = ['ip_policy', 'backend']

/** Whether a module can act on the traffic of a type. */
function acts(module: ModuleName, type: string): boolean {
  if (type === 'tcp') return CONNECTION_MODULES.includes(module)
  return type === 'https' || !TLS_MODULES.includes(module)
}

/** Modules for the endpoints at reserved domains and addresses, as the original had before edges. */
export const EndpointConfiguration = defineResource({
  name: 'endpoint configuration',
  description:
    'Modules for the endpoints of agents at reserved domains and addresses. Kept for older clients; use edges instead.',
  path: '/endpoint_configurations',
  prefix: 'ec',
  listKey: 'endpoint_configurations',
  event: 'endpoint_configuration',
  fields: {
    ...common,
    type: fixed(required(choice(['http', 'https', 'tcp'], 'https')), 'The protocol.'),
    ...moduleFields(configurationModules),
  },
  rule(record) {
    const { type, basic_auth, backend } = record
    const idle = (Object.keys(configurationModules) as ModuleName[]).find(
      (name) => record[name]?.enabled && !acts(name, type),
    )
    if (idle !== undefined)
      return { field: idle, message: `${idle} cannot act on ${type} traffic, which is the type given.` }
    if (basic_auth?.enabled && backend?.enabled)
      return {
        field: 'basic_auth',
        message: 'basic_auth takes its credentials from agents, so it cannot be combined with a backend.',
      }
    return oneSignIn(record)
  },
})
