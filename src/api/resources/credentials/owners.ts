import type { ApiCall } from '../../call.ts'

/** The owner of a new credential: the caller unless the request names another. The resource's guard checks that. */
export function ownerFor(requestedOwner: string, { principal }: ApiCall): string {
  return requestedOwner === '' ? principal.ownerId : requestedOwner
}
