import { isDeepStrictEqual } from 'node:util'
import type { Outbound } from '../../../base/outbound/outbound.ts'
import type { Clock } from '../../../base/values/clock.ts'
import { METADATA_LIMITS } from '../../../resources/index.ts'
import { EdgeError, edgeError } from '../../errors.ts'
import { createProviderFetch, type ProviderFetch } from '../provider/provider-fetch.ts'
import { SignInError } from '../sign-in.ts'
import { type IdentityProvider, requireUsableMetadata } from './saml-metadata.ts'
import type { SamlWorkers } from './saml-pool.ts'

const METADATA_TTL_MS = 60 * 60 * 1000
/** Minimum interval between fetches for unknown keys, with which anyone can sign. */
const UNKNOWN_KEY_INTERVAL_MS = 60 * 1000

/** Where the metadata of an identity provider comes from. */
export interface SamlMetadataSource {
  readonly accountId: string
  /** Inline metadata; empty when it is fetched. */
  readonly idp_metadata: string
  readonly idp_metadata_url: string
  readonly outbound: Pick<Outbound, 'fetch'>
  readonly workers: SamlWorkers
  readonly clock: Clock
}

/** The identity provider of one route, loaded on first use. Inline metadata is parsed only once. */
export class SamlIdentityProvider {
  readonly #source: SamlMetadataSource
  readonly #providerFetch: ProviderFetch
  #latest: IdentityProvider | undefined
  #reload: { readonly done: Promise<void>; readonly at: number } | undefined
  #cached: { readonly idp: Promise<IdentityProvider>; readonly loadedAt: number } | undefined

  /** Unusable metadata fails at configuration time rather than at the first sign-in, and is reported to the owner. */
  constructor(source: SamlMetadataSource) {
    this.#source = source
    this.#providerFetch = createProviderFetch(source.outbound)
    if (this.#isInline) requireUsableMetadata(source.idp_metadata, METADATA_LIMITS)
  }

  /** Its entity id, or where its metadata is as long as that has not been read. */
  get name(): string {
    return this.#latest?.entityId ?? this.#source.idp_metadata_url
  }

  get #isInline(): boolean {
    return this.#source.idp_metadata !== ''
  }

  load(): Promise<IdentityProvider> {
    const cached = this.#cached
    const now = this.#source.clock.monotonic()
    if (cached !== undefined && (this.#isInline || now - cached.loadedAt < METADATA_TTL_MS)) return cached.idp
    const idp = (this.#isInline ? this.#parseInline() : this.#fetch()).catch((error: unknown) => {
      // Inline metadata does not change; anything else is retried.
      if (!isModuleBroken(error)) this.#cached = undefined
      throw error
    })
    this.#cached = { idp, loadedAt: now }
    return idp
  }

  /**
   * Returns newer metadata for a message that is signed with a key that this one does not have; undefined when there is
   * none. Concurrent callers share one request, and a failed one leaves the metadata as it is.
   */
  async loadNewer(outdated: IdentityProvider): Promise<IdentityProvider | undefined> {
    if (this.#isInline) return undefined
    const at = this.#source.clock.monotonic()
    if (this.#reload === undefined || at - this.#reload.at >= UNKNOWN_KEY_INTERVAL_MS) {
      const done = this.#fetch().then(
        (idp) => {
          this.#cached = { idp: Promise.resolve(idp), loadedAt: at }
        },
        () => {},
      )
      this.#reload = { done, at }
    }
    await this.#reload.done
    return isDeepStrictEqual(this.#latest, outdated) ? undefined : this.#latest
  }

  async #parse(xml: string): Promise<IdentityProvider> {
    const { workers, accountId } = this.#source
    const idp = await workers.check(accountId, { kind: 'metadata', xml, limits: METADATA_LIMITS })
    this.#latest = idp
    return idp
  }

  async #parseInline(): Promise<IdentityProvider> {
    try {
      return await this.#parse(this.#source.idp_metadata)
    } catch (error) {
      // A broken module denies all traffic (P36).
      throw error instanceof EdgeError ? error : edgeError('module_broken', 'saml')
    }
  }

  async #fetch(): Promise<IdentityProvider> {
    try {
      const response = await this.#providerFetch(this.#source.idp_metadata_url)
      if (!response.ok) throw new Error(`the metadata address answered ${response.status}`)
      return await this.#parse(await response.text())
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
