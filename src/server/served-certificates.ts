import { Secret } from '../base/secret.ts'
import type { Certs } from '../certs/index.ts'

interface Served {
  readonly certificatePem: string
  readonly privateKeyPem: Secret
}

const KEPT = 10_000

/** Certificates as the edge takes them: one object for each version, so that what it makes of one can be kept. */
export function servedCertificates(
  certs: Pick<Certs, 'lookup'>,
): (serverName: string) => Promise<Served | undefined> {
  const byVersion = new Map<string, Served>()
  return async (serverName) => {
    const found = await certs.lookup(serverName)
    if (found === undefined) return undefined
    const known = byVersion.get(found.version)
    if (known !== undefined) return known
    if (byVersion.size >= KEPT) byVersion.clear()
    const served = { certificatePem: found.certPem, privateKeyPem: new Secret(found.keyPem) }
    byVersion.set(found.version, served)
    return served
  }
}
