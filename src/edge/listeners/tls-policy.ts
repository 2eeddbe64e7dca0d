import { createHash } from 'node:crypto'

/** From which version on TLS is spoken. */
export type MinVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'

/** What the tls modules of an entry ask of the handshake. */
export interface TlsSettings {
  readonly minVersion?: MinVersion
  /** PEM of the authorities a client certificate must come from; absent means that none is asked for. */
  readonly clientAuthorities?: readonly string[]
  /** A certificate of its own, instead of the one the platform has for the name. */
  readonly certificate?: { readonly certificatePem: string; readonly privateKeyPem: string }
}

/** The settings of an entry as a whole. */
export interface TlsPolicySettings extends TlsSettings {
  /** Whether HTTP is spoken inside, so that its versions are offered. */
  readonly http: boolean
}

/** One way to terminate TLS. Connections, session tickets and requests never cross from one policy to another. */
export interface TlsPolicy {
  /** Equal keys mean equal settings, also after the configuration was compiled anew. */
  readonly key: string
  readonly settings: TlsPolicySettings
}

/** The policies in use: equal settings are one policy, so that its session tickets outlive a change elsewhere. */
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

/** Secrets go into the key as a digest only. */
function policyKey({ minVersion, clientAuthorities, certificate, http }: TlsPolicySettings): string {
  const prefix = `${http ? 'http' : 'raw'} ${minVersion ?? 'TLSv1.2'}`
  // What most ask for, and for a hundred thousand edges at once.
  if (clientAuthorities === undefined && certificate === undefined) return prefix
  const digest = createHash('sha256')
  digest.update(JSON.stringify([clientAuthorities ?? null, certificate ?? null]))
  return `${prefix} ${digest.digest('base64url')}`
}
