import { randomBytes } from 'node:crypto'
import type { SAML } from '@node-saml/node-saml'
import type { KeyedCertificate } from '../../../certs/index.ts'
import type { Saml, SamlUrls, Settings } from '../../../resources/index.ts'
import type { Identity } from '../sign-in.ts'
import type { CheckedLogout } from './saml-checks.ts'
import type { IdentityProvider } from './saml-metadata.ts'

/** Loaded with the first sign-in: it takes 7 MiB of memory, and few routes use SAML. */
const loadSaml = () => import('@node-saml/node-saml')

/** The key that signs requests, with its certificate; undefined where they are not signed. */
export type LoadRequestKey = () => Promise<KeyedCertificate | undefined>

/** Writes the messages of a SAML service provider. Those of identity providers are parsed in worker threads. */
export class SamlWriter {
  readonly #settings: Settings<typeof Saml>
  readonly #urls: () => SamlUrls
  readonly #requestKey: LoadRequestKey

  constructor(settings: Settings<typeof Saml>, urls: () => SamlUrls, requestKey: LoadRequestKey) {
    this.#settings = settings
    this.#urls = urls
    this.#requestKey = requestKey
  }

  /** The service provider metadata for the identity provider. */
  async metadata(): Promise<string> {
    const { generateServiceProviderMetadata } = await loadSaml()
    const urls = this.#urls()
    const metadata = generateServiceProviderMetadata({
      issuer: urls.entity_id,
      callbackUrl: urls.assertion_consumer_service_url,
      logoutCallbackUrl: urls.single_logout_url,
      identifierFormat: this.#settings.nameid_format,
      wantAssertionsSigned: true,
      ...(await this.#signature()),
    })
    // The library announces one binding for log-out requests, and both are served.
    return metadata
      .split('\n')
      .flatMap((line) =>
        line.includes('<SingleLogoutService ') ? [line, line.replace('HTTP-POST', 'HTTP-Redirect')] : [line],
      )
      .join('\n')
  }

  /** Where a visitor signs in; the response names the request. */
  async authorizeUrl(
    idp: IdentityProvider,
    request: { readonly requestId: string; readonly relayState: string; readonly switchesAccount: boolean },
  ): Promise<string> {
    const saml = await this.#createSaml(idp, request)
    return saml.getAuthorizeUrlAsync(request.relayState, undefined, {})
  }

  /** Where the session of a person ends; undefined when the identity provider cannot end it. */
  async logoutUrl(idp: IdentityProvider, { id, atProvider = {} }: Identity): Promise<string | undefined> {
    if (idp.sloUrl === undefined) return undefined
    const profile = {
      issuer: idp.entityId,
      nameID: id,
      nameIDFormat: atProvider.format ?? this.#settings.nameid_format,
      ...(atProvider.index !== undefined && { sessionIndex: atProvider.index }),
    }
    return (await this.#createSaml(idp)).getLogoutUrlAsync(profile, '', {})
  }

  /** The response to a logout request of the identity provider; undefined when it takes none. */
  async logoutResponseUrl(
    idp: IdentityProvider,
    { id, issuer, nameId, nameIdFormat, relayState }: CheckedLogout,
  ): Promise<string | undefined> {
    if (idp.sloUrl === undefined) return undefined
    const profile = { ID: id, issuer, nameID: nameId, nameIDFormat: nameIdFormat }
    return (await this.#createSaml(idp)).getLogoutResponseUrlAsync(profile, relayState, {}, true)
  }

  async #createSaml(
    idp: IdentityProvider,
    { requestId = `_${randomBytes(16).toString('hex')}`, switchesAccount = false } = {},
  ): Promise<SAML> {
    const { SAML } = await loadSaml()
    const urls = this.#urls()
    return new SAML({
      callbackUrl: urls.assertion_consumer_service_url,
      entryPoint: idp.ssoUrl,
      ...(idp.sloUrl !== undefined && { logoutUrl: idp.sloUrl }),
      issuer: urls.entity_id,
      idpCert: [...idp.certificates],
      identifierFormat: this.#settings.nameid_format,
      forceAuthn: this.#settings.force_authn || switchesAccount,
      disableRequestedAuthnContext: true,
      generateUniqueId: () => requestId,
      ...(await this.#signature()),
    })
  }

  async #signature() {
    const key = await this.#requestKey()
    const pair = key && { privateKey: key.privateKeyPem.reveal(), publicCerts: key.certificatePem }
    return { ...pair, signatureAlgorithm: 'sha256', digestAlgorithm: 'sha256' } as const
  }
}
