import { type ResourceKind, resources } from '../resources/index.ts'
import { accountOperations } from './account-apply.ts'
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

/** Resources that agents create; all others are stored. */
const ONLINE: readonly string[] = ['tunnel_sessions', 'tunnels'] satisfies ResourceKind[]

const storedKinds = (Object.keys(resources) as ResourceKind[]).filter((kind) => !ONLINE.includes(kind))

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
  ...auditOperations,
  ...accountOperations,
  ...rootOperations,
]
