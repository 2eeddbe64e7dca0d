import type { ApiCall } from './call.ts'

/** The owner a new credential gets: the caller unless another is named, which the guard of the resource decides on. */
export function ownerFor(requestedOwner: string, { principal }: ApiCall): string {
  return requestedOwner === '' ? principal.ownerId : requestedOwner
}
