import { type ResourceKind, resources } from '../resources/index.ts'
import { accountOperations } from './account/apply.ts'
import { type ApiOperation, operationsOf } from './crud/operations.ts'
import { auditOperations } from './resources/audit-events.ts'
import { applicationOperations } from './resources/credentials/application-sessions.ts'
import { serviceUsers } from './resources/credentials/users.ts'
import { vaultSecretOperations } from './resources/credentials/vaults.ts'
import { detachOperations } from './resources/endpoints/detach.ts'
import { boundEndpointsOperation } from './resources/endpoints/kubernetes-operators.ts'
import { testEventOperation } from './resources/events/event-destinations.ts'
import { eventSourceOperations } from './resources/events/event-sources.ts'
import { hooksOf } from './resources/resource-hooks.ts'
import { rootOperations } from './resources/root.ts'
import { sessionOperations } from './resources/sessions.ts'

const storedKinds = (Object.keys(resources) as ResourceKind[]).filter((kind) => !resources[kind].online)

/** Every operation of the API. */
export const operations: readonly ApiOperation[] = [
  ...storedKinds.flatMap((kind) => operationsOf(hooksOf(kind))),
  ...operationsOf(serviceUsers),
  ...detachOperations,
  ...vaultSecretOperations,
  boundEndpointsOperation,
  ...eventSourceOperations,
  testEventOperation,
  ...sessionOperations,
  ...applicationOperations,
  ...auditOperations,
  ...accountOperations,
  ...rootOperations,
]
