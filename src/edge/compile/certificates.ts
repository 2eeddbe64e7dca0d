import { coveringNames } from '../../base/values/name-index.ts'
import type { Snapshot } from '../contracts/snapshot.ts'

/**
 * Returns what is wrong with the certificate the owner configured for this name; undefined when it is usable or none is
 * set.
 */
export function findCertificateFault(
  name: string,
  snapshot: Snapshot,
  dependOn: (id: string) => void,
): string | undefined {
  for (const candidate of coveringNames(name)) {
    // Unreserved names count as dependencies too: they may be reserved later.
    dependOn(`domain ${candidate}`)
    const domain = snapshot.domainNamed(candidate)
    if (domain === undefined) continue
    const { certificate_id } = domain
    if (certificate_id === null) return undefined
    dependOn(certificate_id)
    const certificate = snapshot.certificates.get(certificate_id)
    if (certificate === undefined) return `the certificate ${certificate_id} of ${candidate} is missing`
    return certificate.private_key_pem
      ? undefined
      : `the key of the certificate ${certificate_id} cannot be read`
  }
  return undefined
}
