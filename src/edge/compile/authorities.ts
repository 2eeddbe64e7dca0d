import type { Snapshot } from '../contracts/snapshot.ts'
import { readAuthorities } from '../modules/authorities.ts'
import { ModuleConfigError } from '../modules/context.ts'

/** Returns the certificates of these authorities. A missing or unreadable authority is an error (P36). */
export function authorityCertificates(snapshot: Snapshot, ids: readonly string[]): string[] {
  return ids.flatMap((id) => {
    const authority = snapshot.authorities.get(id)
    if (authority === undefined) throw new ModuleConfigError(`the certificate authority ${id} is missing`)
    return readAuthorities(authority.ca_pem)
  })
}
