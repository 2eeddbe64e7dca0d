import {
  allResources,
  type Resource,
  resources,
  ServiceUser,
  type Operation as Verb,
} from '../resources/index.ts'
import { accountRoutes } from './account-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { detachRoutes } from './detach-routes.ts'
import { eventSourceRoutes } from './event-source-routes.ts'
import { boundEndpointsRoute } from './kubernetes-operator-routes.ts'
import { rootRoutes } from './root-routes.ts'
import { type ApiRoute, moduleRoutes, onlineRoutes, resourceRoutes } from './routes.ts'
import { commandRoutes } from './session-routes.ts'
import { testEventRoute } from './test-event-route.ts'
import { vaultSecretsRoute } from './vault-routes.ts'

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
