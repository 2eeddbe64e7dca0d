import { constants } from 'node:crypto'
import { isIP } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import type { MaybePromise } from '../../base/values/maybe-promise.ts'
import { startAutoRenew } from '../auto-renew.ts'
import type { Authority } from './authority.ts'
import type { ServedCertificate } from './served-certificate.ts'

const RENEW_AFTER_MS = 20 * 24 * 60 * 60 * 1000
const CIPHERS =
  'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20'

/** The agent gateway's certificate, signed by the private root for every name agents may dial. */
export async function createGatewayCertificate(
  authority: Authority,
  hosts: readonly string[],
  { clock, log }: { clock: Clock; log: Logger },
) {
  const certificate = await startAutoRenew({
    async issue(now) {
      const leaf = await authority.issueLeaf({
        names: hosts.filter((host) => isIP(host) === 0),
        ips: hosts.filter((host) => isIP(host) !== 0),
        now,
      })
      return createAgentContext(leaf.certificatePem, leaf.privateKeyPem.reveal())
    },
    renewAfterMs: RENEW_AFTER_MS,
    clock,
    log,
    name: 'gateway certificate',
  })
  return { context: certificate.current, check: certificate.check, stop: certificate.stop }
}

const MAX_CACHED_CONTEXTS = 1000

/** TLS contexts for the names of agent ingresses, cached by certificate version. */
export function createAgentContexts(certs: {
  agentCertificate(serverName: string): MaybePromise<ServedCertificate | undefined>
}) {
  const byVersion = new Map<string, SecureContext>()
  return async (serverName: string): Promise<SecureContext | undefined> => {
    const certificate = await certs.agentCertificate(serverName)
    if (certificate === undefined) return undefined
    const cached = byVersion.get(certificate.version)
    if (cached !== undefined) return cached
    if (byVersion.size >= MAX_CACHED_CONTEXTS) byVersion.clear()
    const context = createAgentContext(certificate.certPem, certificate.keyPem)
    byVersion.set(certificate.version, context)
    return context
  }
}

function createAgentContext(cert: string, key: string): SecureContext {
  return createSecureContext({
    cert,
    key,
    minVersion: 'TLSv1.2',
    // A handshake costs the server many times what it costs the client: one per connection.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    // AES-128 needs the least CPU per byte and is as safe.
    ciphers: CIPHERS,
    honorCipherOrder: true,
  })
}
