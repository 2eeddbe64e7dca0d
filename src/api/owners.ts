import type { Call } from './call.ts'

/** The owner a new credential gets: the caller unless another is named, which the guard of the resource decides on. */
export function ownerFor(given: string, { principal }: Call): string {
  return given === '' ? principal.ownerId : given
}
