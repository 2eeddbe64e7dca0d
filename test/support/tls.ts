import { createAuthority, loadAuthority } from '../../src/certs/index.ts'

/** Creates an authority and a server certificate, for tests with a real TLS listener. */
export async function createTlsIdentity(names: string[], ips = ['127.0.0.1', '::1']) {
  const authority = await loadAuthority(await createAuthority())
  const leaf = await authority.issueLeaf({ names, ips })
  return { ca: authority.certificatePem, cert: leaf.certificatePem, key: leaf.privateKeyPem.reveal() }
}
