import type { TlsPolicies, TlsPolicy, TlsPolicySettings } from '../contracts/tls-policy.ts'
import type { ReadTlsSettings } from '../policy/context.ts'

/**
 * Gives a host the TLS policy that its traffic policy asks for at the moment it is read: secrets and authorities change
 * without the host being compiled again. The host's own settings win over those of its policy.
 */
export function withLiveTlsPolicy<E extends { readonly id: string }>(
  host: E,
  own: TlsPolicySettings,
  readSettings: ReadTlsSettings,
  tlsPolicies: TlsPolicies,
): E & { readonly tlsPolicy: TlsPolicy } {
  let last: { readonly settings: object; readonly tlsPolicy: TlsPolicy } | undefined
  const read = (): TlsPolicy => {
    const settings = readSettings()
    if (last?.settings !== settings) last = { settings, tlsPolicy: tlsPolicies.get(merge(settings, own)) }
    return last.tlsPolicy
  }
  return {
    ...host,
    get tlsPolicy() {
      try {
        return read()
      } catch {
        // No other host shares it, and the policy's own step denies what gets as far as a handshake.
        return { key: `broken ${host.id}`, settings: own }
      }
    },
  }
}

function merge(settings: ReturnType<ReadTlsSettings>, own: TlsPolicySettings): TlsPolicySettings {
  const { clientVerification, ...rest } = settings
  // Certificates that the host itself wants verified stay verified.
  const isVerified = own.clientAuthorities !== undefined || clientVerification === undefined
  return { ...rest, ...(!isVerified && { clientVerification }), ...own }
}

/** Whether the settings of a policy name a certificate of their own. */
export function presentsCertificate(readSettings: ReadTlsSettings): boolean {
  try {
    return readSettings().certificate !== undefined
  } catch {
    // Something that they name is missing, so that nothing is admitted for now.
    return true
  }
}
