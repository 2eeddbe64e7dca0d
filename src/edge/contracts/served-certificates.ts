import { Secret } from '../../base/values/secret.ts'
import type { Certs } from '../../certs/index.ts'

interface ServedCertificate {
  readonly certificatePem: string
  readonly privateKeyPem: Secret
}

const MAX_CACHED_CERTIFICATES = 10_000

/** Certificates for the edge: one object per version, so that the edge can cache what it derives from it. */
export function createServedCertificates(
  certs: Pick<Certs, 'lookup'>,
): (serverName: string) => Promise<ServedCertificate | undefined> {
  const byVersion = new Map<string, ServedCertificate>()
  return async (serverName) => {
    const certificate = await certs.lookup(serverName)
    if (certificate === undefined) return undefined
    const cached = byVersion.get(certificate.version)
    if (cached !== undefined) return cached
    if (byVersion.size >= MAX_CACHED_CERTIFICATES) byVersion.clear()
    const served = { certificatePem: certificate.certPem, privateKeyPem: new Secret(certificate.keyPem) }
    byVersion.set(certificate.version, served)
    return served
  }
}
