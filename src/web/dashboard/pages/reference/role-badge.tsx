import { choiceLabel } from '../../form/labels.ts'
import { Badge } from '../../kit/index.ts'
import { includesRole, type Operation } from '../../openapi.ts'
import { useSession } from '../../session.ts'

/** Whether the signed-in user may call an operation; the server decides in any case. */
export function useMayCall(operation: Operation): boolean {
  const { role } = useSession().session
  return includesRole(role, operation['x-required-role'] ?? 'developer')
}

/** Marks an operation that the role of the user does not allow. */
export function RoleBadge({ operation }: { operation: Operation }) {
  if (useMayCall(operation)) return null
  return <Badge tone="warn">Requires {choiceLabel(operation['x-required-role']).toLowerCase()}</Badge>
}
