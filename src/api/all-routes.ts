import {
  allResources,
  type Resource,
  resources,
  ServiceUser,
  type Operation as Verb,
} from '../resources/index.ts'
import { accountRoutes } from './account/routes.ts'
import { auditRoutes } from './resources/audit-routes.ts'
import { vaultSecretsRoute } from './resources/credentials/vault-routes.ts'
import { detachRoutes } from './resources/endpoints/detach-routes.ts'
import { boundEndpointsRoute } from './resources/endpoints/kubernetes-operator-routes.ts'
import { eventSourceRoutes } from './resources/events/event-source-routes.ts'
import { testEventRoute } from './resources/events/test-event-route.ts'
import { rootRoutes } from './resources/root-routes.ts'
import { type ApiRoute, moduleRoutes, onlineRoutes, resourceRoutes } from './routes.ts'
import { commandRoutes } from './session-routes.ts'

function declaredRoutes(resource: Resource): ApiRoute[] {
  const routes = resourceRoutes(resource)
  return [
    ...resource.operations.map((verb: Verb) => routes[verb]),
    ...resource.modules.flatMap((module) => Object.values(moduleRoutes(resource, module))),
  ]
}

/** Every route of the API without its handler, for API clients. A test compares it with the operations. */
export const routes: readonly ApiRoute[] = [
  ...allResources.filter(({ online }) => !online).flatMap(declaredRoutes),
  ...declaredRoutes(ServiceUser),
  ...Object.values(detachRoutes),
  vaultSecretsRoute,
  boundEndpointsRoute,
  ...Object.values(eventSourceRoutes),
  testEventRoute,
  ...[resources.tunnel_sessions, resources.tunnels].flatMap((resource) =>
    Object.values(onlineRoutes(resource)),
  ),
  ...Object.values(commandRoutes),
  ...[resources.app_users, resources.app_sessions].flatMap(declaredRoutes),
  ...Object.values(auditRoutes),
  ...Object.values(accountRoutes),
  ...Object.values(rootRoutes),
]
