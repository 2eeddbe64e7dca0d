import { isIP } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Authority } from '../certs/index.ts'

const RENEW_AFTER_MS = 20 * 24 * 60 * 60 * 1000
const CIPHERS =
  'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20'

/** The certificate agents see: signed by the private root, for every name this server can be dialled by. */
export async function createGatewayCertificate(authority: Authority, hosts: readonly string[]) {
  const issue = async (): Promise<SecureContext> => {
    const leaf = await authority.issueLeaf({
      names: hosts.filter((host) => isIP(host) === 0),
      ips: hosts.filter((host) => isIP(host) !== 0),
    })
    return createSecureContext({
      cert: leaf.certificatePem,
      key: leaf.privateKeyPem.reveal(),
      minVersion: 'TLSv1.2',
      // AES-128 costs the least CPU for each byte of a tunnel and is as safe.
      ciphers: CIPHERS,
      honorCipherOrder: true,
    })
  }
  let context = await issue()
  const timer = setInterval(() => {
    void issue().then((fresh) => {
      context = fresh
    })
  }, RENEW_AFTER_MS)
  timer.unref()
  return { context: () => context, stop: () => clearInterval(timer) }
}
