import type { Call } from './call.ts'
import { problem } from './problems.ts'

/** The owner a new credential gets: whoever calls, or whom an administrator names. */
export function ownerFor(given: string, { principal }: Call): string {
  if (given === '' || given === principal.ownerId) return principal.ownerId
  if (principal.role !== 'admin') throw problem('other_owner')
  return given
}
