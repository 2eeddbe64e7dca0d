import { createHash } from 'node:crypto'

/** The versions of TLS that a policy may limit handshakes to. */
export type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'

/** Handshake settings of the TLS modules of a host. */
export interface TlsSettings {
  readonly minVersion?: TlsVersion
  readonly maxVersion?: TlsVersion
  /** PEM of the authorities that may issue client certificates; absent when no certificate is verified. */
  readonly clientAuthorities?: readonly string[]
  /** Asks for client certificates without verifying them: any is required, or none. */
  readonly clientVerification?: 'require-any' | 'request'
  /** Replaces the certificate that the platform has for the name. */
  readonly certificate?: { readonly certificatePem: string; readonly privateKeyPem: string }
}

/** Whether a handshake without client certificate fails. */
export function requiresClientCertificate(settings: TlsSettings | undefined): boolean {
  const { clientAuthorities, clientVerification } = settings ?? {}
  return clientVerification === undefined
    ? clientAuthorities !== undefined
    : clientVerification === 'require-any'
}

/** The complete TLS settings of a host. */
export interface TlsPolicySettings extends TlsSettings {
  /** Whether the host serves HTTP, so that ALPN offers its versions. */
  readonly http: boolean
}

/** One way to terminate TLS. Connections, session tickets and requests never cross from one policy to another (P33). */
export interface TlsPolicy {
  /** Equal keys mean equal settings, also across recompilations. */
  readonly key: string
  readonly settings: TlsPolicySettings
}

/** Interns policies: equal settings are one policy, so that its session tickets survive unrelated changes. */
export class TlsPolicies {
  readonly #policies = new Map<string, WeakRef<TlsPolicy>>()
  readonly #finalizer = new FinalizationRegistry<string>((key) => {
    if (this.#policies.get(key)?.deref() === undefined) this.#policies.delete(key)
  })

  get(settings: TlsPolicySettings): TlsPolicy {
    const key = policyKey(settings)
    const existing = this.#policies.get(key)?.deref()
    if (existing !== undefined) return existing
    const policy = { key, settings }
    this.#policies.set(key, new WeakRef(policy))
    this.#finalizer.register(policy, key)
    return policy
  }
}

/** Secrets enter the key as a digest only. */
function policyKey(settings: TlsPolicySettings): string {
  const { minVersion, maxVersion, clientAuthorities, clientVerification, certificate, http } = settings
  const limits = [minVersion ?? 'TLSv1.2', maxVersion, clientVerification].filter(Boolean)
  const prefix = `${http ? 'http' : 'raw'} ${limits.join(' ')}`
  // The common case needs no digest, which matters when 100,000 edges are compiled at once.
  if (clientAuthorities === undefined && certificate === undefined) return prefix
  const digest = createHash('sha256')
  digest.update(JSON.stringify([clientAuthorities ?? null, certificate ?? null]))
  return `${prefix} ${digest.digest('base64url')}`
}
