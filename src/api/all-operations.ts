import { type ResourceKind, resources } from '../resources/index.ts'
import { accountOperations } from './account-apply.ts'
import { applicationOperations } from './application-sessions.ts'
import { auditOperations } from './audit-events.ts'
import { behaviourOf } from './behaviours.ts'
import { detachOperations } from './detach.ts'
import { testEventOperation } from './event-destinations.ts'
import { eventSourceOperations } from './event-sources.ts'
import { boundEndpointsOperation } from './kubernetes-operators.ts'
import { type ApiOperation, operationsOf } from './operations.ts'
import { rootOperations } from './root.ts'
import { sessionOperations } from './sessions.ts'
import { serviceUsers } from './users.ts'
import { vaultSecretOperations } from './vaults.ts'

const storedKinds = (Object.keys(resources) as ResourceKind[]).filter((kind) => !resources[kind].online)

/** Every operation of the API. */
export const operations: readonly ApiOperation[] = [
  ...storedKinds.flatMap((kind) => operationsOf(behaviourOf(kind))),
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
