import type { Outbound } from '../../base/outbound/outbound.ts'
import { METADATA_LIMITS } from '../../resources/index.ts'
import { EdgeError, edgeError } from '../errors.ts'
import { createProviderFetch, type ProviderFetch } from './provider-fetch.ts'
import { type IdentityProvider, requireUsableMetadata } from './saml-metadata.ts'
import type { SamlWorkers } from './saml-pool.ts'
import { SignInError } from './sign-in.ts'

const METADATA_TTL_MS = 60 * 60 * 1000

/** Where the metadata of an identity provider comes from. */
export interface SamlMetadataSource {
  readonly accountId: string
  /** Inline metadata; empty when it is fetched. */
  readonly idp_metadata: string
  readonly idp_metadata_url: string
  readonly outbound: Pick<Outbound, 'fetch'>
  readonly workers: SamlWorkers
}

/** The identity provider of one route, loaded on first use. Inline metadata is parsed only once. */
export class SamlIdentityProvider {
  readonly #source: SamlMetadataSource
  readonly #providerFetch: ProviderFetch
  #entityId: string | undefined
  #cached: { readonly idp: Promise<IdentityProvider>; readonly loadedAt: number } | undefined

  /** Unusable metadata fails at configuration time rather than at the first sign-in, and is reported to the owner. */
  constructor(source: SamlMetadataSource) {
    this.#source = source
    this.#providerFetch = createProviderFetch(source.outbound)
    if (this.#isInline) requireUsableMetadata(source.idp_metadata, METADATA_LIMITS)
  }

  /** Its entity id, or where its metadata is as long as that has not been read. */
  get name(): string {
    return this.#entityId ?? this.#source.idp_metadata_url
  }

  get #isInline(): boolean {
    return this.#source.idp_metadata !== ''
  }

  load(): Promise<IdentityProvider> {
    const cached = this.#cached
    if (cached !== undefined && (this.#isInline || performance.now() - cached.loadedAt < METADATA_TTL_MS))
      return cached.idp
    const idp = (this.#isInline ? this.#parseInline() : this.#fetch()).catch((error: unknown) => {
      // Inline metadata does not change; anything else is retried.
      if (!isModuleBroken(error)) this.#cached = undefined
      throw error
    })
    this.#cached = { idp, loadedAt: performance.now() }
    return idp
  }

  #parse(xml: string): Promise<IdentityProvider> {
    const { workers, accountId } = this.#source
    return workers.check(accountId, { kind: 'metadata', xml, limits: METADATA_LIMITS })
  }

  async #parseInline(): Promise<IdentityProvider> {
    try {
      const idp = await this.#parse(this.#source.idp_metadata)
      this.#entityId = idp.entityId
      return idp
    } catch (error) {
      // A broken module denies all traffic (P36).
      throw error instanceof EdgeError ? error : edgeError('module_broken', 'saml')
    }
  }

  async #fetch(): Promise<IdentityProvider> {
    try {
      const response = await this.#providerFetch(this.#source.idp_metadata_url)
      if (!response.ok) throw new Error(`the metadata address answered ${response.status}`)
      const idp = await this.#parse(await response.text())
      this.#entityId = idp.entityId
      return idp
    } catch (error) {
      throw error instanceof EdgeError || error instanceof SignInError
        ? error
        : new SignInError('discovery_failed', { cause: error })
    }
  }
}

function isModuleBroken(error: unknown): boolean {
  return error instanceof EdgeError && error.name === 'module_broken'
}
