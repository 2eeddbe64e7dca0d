import { createAuthority, loadAuthority } from '../../certs/index.ts'
import type { CertificateLookup, ServerCertificate } from '../listeners/tls-terminator.ts'

/** A private authority that issues certificates on demand for every name below these domains. */
export async function createTestCertificates(
  ...domains: string[]
): Promise<{ ca: string; lookup: CertificateLookup; issue(name: string): Promise<ServerCertificate> }> {
  const root = await createAuthority({ commonName: 'test root' })
  const authority = await loadAuthority(root)
  const issued = new Map<string, Promise<ServerCertificate>>()
  const issue = (name: string) => {
    const existing = issued.get(name)
    if (existing !== undefined) return existing
    const certificate = authority.issueLeaf({ names: [name] })
    issued.set(name, certificate)
    return certificate
  }
  return {
    ca: root.certificatePem,
    issue,
    lookup: (name) =>
      domains.some((domain) => name === domain || name.endsWith(`.${domain}`)) ? issue(name) : undefined,
  }
}
