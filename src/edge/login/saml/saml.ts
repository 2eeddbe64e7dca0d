import { hash } from 'node:crypto'
import type { Outbound } from '../../../base/outbound/outbound.ts'
import type { Clock } from '../../../base/values/clock.ts'
import type { Saml, SamlUrls, Settings } from '../../../resources/index.ts'
import { CALLBACK_PATH } from '../../sign-in-target.ts'
import { ALLOW_EVERYONE, requireAllowed } from '../allow-rules.ts'
import { sanitizeReturnPath } from '../return-to.ts'
import { consumeOnce, type LoginStore, revokeEverywhere } from '../sessions/login-store.ts'
import type { ReplayGuard } from '../sessions/replay-guard.ts'
import { type Revocations, toSubject } from '../sessions/revocations.ts'
import { createLifetime } from '../sessions/session.ts'
import type { SignInOrigin, SignInState, Tickets } from '../sessions/tickets.ts'
import { GrantRevoked, type Identity, type SignIn, SignInError, type SignInMemory } from '../sign-in.ts'
import type { CheckedLogout, Parties, Rejection, SamlCheck } from './saml-checks.ts'
import { SamlIdentityProvider } from './saml-identity-provider.ts'
import { MAX_ASSERTION_AGE_MS, MAX_CLOCK_SKEW_MS } from './saml-limits.ts'
import type { IdentityProvider } from './saml-metadata.ts'
import type { SamlWorkers } from './saml-pool.ts'
import { type LoadRequestKey, SamlWriter } from './saml-writer.ts'

/** Long enough for a page of the route or a sealed state of ours. */
const MAX_RELAY_STATE_LENGTH = 4096

export interface SamlOptions {
  readonly accountId: string
  readonly scopeId: string
  /** The version of the guard. */
  readonly version: string
  readonly settings: Settings<typeof Saml>
  readonly name: string
  /** Known once the listener is bound. */
  readonly urls: () => SamlUrls
  readonly tickets: Tickets
  readonly replayGuard: ReplayGuard
  readonly store: LoginStore
  readonly revocations: Revocations
  readonly clock: Clock
  readonly outbound: Pick<Outbound, 'fetch'>
  readonly workers: SamlWorkers
  readonly requestKey: LoadRequestKey
}

/** Whether this service provider, with these settings, currently serves an origin and path. */
export type ServesOrigin = (origin: string, path: string) => boolean

/** The SAML service provider of one route, used by its guard and by its URLs on the login host. */
export class SamlServiceProvider implements SignIn {
  /** What its URLs name it by. */
  readonly name: string
  readonly scopeId: string
  readonly version: string
  readonly #options: SamlOptions
  readonly #identityProvider: SamlIdentityProvider
  readonly #writer: SamlWriter

  constructor(options: SamlOptions) {
    const { name, scopeId, version, settings, urls, requestKey } = options
    this.name = name
    this.scopeId = scopeId
    this.version = version
    this.#options = options
    this.#identityProvider = new SamlIdentityProvider({ ...options, ...settings })
    this.#writer = new SamlWriter(settings, urls, requestKey)
  }

  get label(): string {
    return this.#options.urls().entity_id
  }

  get provider(): string {
    return this.#identityProvider.name
  }

  async describeProvider() {
    const { entityId } = await this.#identityProvider.load()
    return { name: URL.parse(entityId)?.hostname || entityId, url: entityId }
  }

  createMemory() {
    return {}
  }

  async begin({ signInId }: SignInMemory, relayState: string, switchesAccount = false): Promise<string> {
    const idp = await this.#identityProvider.load()
    return this.#writer.authorizeUrl(idp, { requestId: `_${signInId}`, relayState, switchesAccount })
  }

  complete(): never {
    // Responses arrive by POST on the login host, which issues a ticket; nothing else can be completed here.
    throw new SignInError('response_invalid')
  }

  async renew(): Promise<never> {
    throw new GrantRevoked('SAML has no tokens')
  }

  async identify(): Promise<never> {
    throw new GrantRevoked('SAML has no tokens')
  }

  async logoutUrl(identity: Identity): Promise<string | undefined> {
    return this.#writer.logoutUrl(await this.#identityProvider.load(), identity)
  }

  signedOutSince({ id }: Identity, since: number): boolean {
    return this.#options.revocations.isRevoked(this.scopeId, toSubject(id), since)
  }

  /** The service provider metadata for the identity provider. */
  metadata(): Promise<string> {
    return this.#writer.metadata()
  }

  /** The `RelayState` of a form. */
  readRelayState(form: URLSearchParams): string {
    const relayState = form.get('RelayState') ?? ''
    if (relayState.length > MAX_RELAY_STATE_LENGTH) throw new SignInError('response_invalid')
    return relayState
  }

  /** Consumes the response to a request; returns the URL to continue at. */
  async consumeResponse(form: URLSearchParams, state: SignInState): Promise<string> {
    const identity = await this.#validate(form, `_${state.signInId}`)
    return this.#options.tickets.ticketUrl(state, identity, { returnTo: state.returnTo ?? '' })
  }

  /** Consumes a response that the provider sent by itself. */
  async consumeUnsolicited(form: URLSearchParams, serves: ServesOrigin): Promise<string> {
    const { returnTo, ...origin } = this.#createIdpInitiatedOrigin(form.get('RelayState') ?? '', serves)
    return this.#options.tickets.ticketUrl(origin, await this.#validate(form, ''), { returnTo })
  }

  /** Handles a log-out message in a query; returns the URL to continue at, if any. */
  async logoutQuery(query: string): Promise<string | undefined> {
    const { idp, checked } = await this.#check((idp) => ({
      kind: 'logout-query',
      parties: this.#toParties(idp, 'single_logout_url'),
      query,
    }))
    // The response to a logout started here: that session has already ended.
    return checked === undefined ? undefined : this.#signOut(idp, checked)
  }

  /** The same in a form. */
  async logoutForm(form: URLSearchParams): Promise<string | undefined> {
    const message = form.get('SAMLRequest')
    if (message === null) return undefined
    const relayState = this.readRelayState(form)
    const { idp, checked } = await this.#check((idp) => ({
      kind: 'logout-form',
      parties: this.#toParties(idp, 'single_logout_url'),
      message,
    }))
    return this.#signOut(idp, { ...checked, relayState })
  }

  #toParties(
    idp: IdentityProvider,
    address: 'assertion_consumer_service_url' | 'single_logout_url',
  ): Parties {
    const urls = this.#options.urls()
    return { idp, entityId: urls.entity_id, address: urls[address] }
  }

  /**
   * Checks a message; throws `SignInError`. One that is signed with an unknown key is checked once more if there is newer
   * metadata: providers replace their keys.
   */
  async #check<C extends SamlCheck>(createCheck: (idp: IdentityProvider) => C) {
    const { workers, accountId } = this.#options
    const run = (idp: IdentityProvider) => workers.check(accountId, createCheck(idp))
    const current = await this.#identityProvider.load()
    const first = await run(current)
    const newer =
      isRejection(first) && first.isKeyUnknown ? await this.#identityProvider.loadNewer(current) : undefined
    const checked = requireAccepted(newer === undefined ? first : await run(newer))
    return { idp: newer ?? current, checked }
  }

  async #validate(form: URLSearchParams, requestId: string): Promise<Identity> {
    const { settings, clock } = this.#options
    const { idp, checked } = await this.#check((idp) => ({
      kind: 'response',
      parties: this.#toParties(idp, 'assertion_consumer_service_url'),
      message: form.get('SAMLResponse') ?? '',
      requestId,
      attributes: {
        email: settings.email_attribute,
        name: settings.name_attribute,
        groups: settings.groups_attribute,
      },
      now: clock.now(),
    }))
    // Keyed by the assertion id, which stays the same however the document around it is rewritten.
    const id = `assertion ${hash('sha256', `${idp.entityId} ${checked.assertionId}`)}`
    const ttlMs = MAX_ASSERTION_AGE_MS + 2 * MAX_CLOCK_SKEW_MS
    if (!(await consumeOnce(this.#options, id, ttlMs))) throw new SignInError('completed')
    const groups = settings.authorized_groups
    requireAllowed(checked.identity, { ...ALLOW_EVERYONE, groups })
    return checked.identity
  }

  /** Revokes all local sessions of the person named in a logout request. */
  async #signOut(idp: IdentityProvider, logout: CheckedLogout): Promise<string | undefined> {
    const { scopeId } = this
    const { settings, clock } = this.#options
    if (!(await consumeOnce(this.#options, `log-out ${scopeId} ${logout.id}`, MAX_ASSERTION_AGE_MS)))
      throw new SignInError('logout_invalid', { cause: new Error('it was used already') })
    const now = clock.now()
    const expiresAt = now + createLifetime(settings, 0).maxSeconds * 1000
    const revocation = { scopeId, subject: toSubject(logout.nameId), latestStart: now, expiresAt }
    await revokeEverywhere(this.#options, revocation)
    return this.#writer.logoutResponseUrl(idp, logout)
  }

  /**
   * The origin of an IdP-initiated sign-in. RelayState names the page, which must be served by this service provider.
   */
  #createIdpInitiatedOrigin(relayState: string, serves: ServesOrigin): SignInOrigin & { returnTo: string } {
    const { settings, urls } = this.#options
    if (!settings.allow_idp_initiated) throw new SignInError('idp_initiated_off')
    const url = URL.parse(relayState)
    const { port } = new URL(urls().assertion_consumer_service_url)
    if (url === null || url.protocol !== 'https:' || url.port !== port || !serves(url.origin, url.pathname))
      throw new SignInError('page_unknown')
    return {
      scopeId: this.scopeId,
      version: this.version,
      origin: url.origin,
      signInId: '',
      browser: '',
      path: serves(url.origin, CALLBACK_PATH) ? CALLBACK_PATH : url.pathname,
      returnTo: sanitizeReturnPath(`${url.pathname}${url.search}`),
    }
  }
}

function requireAccepted<R>(checked: R): Exclude<R, Rejection> {
  if (isRejection(checked)) throw new SignInError(checked.failure, { cause: new Error(checked.reason) })
  return checked as Exclude<R, Rejection>
}

function isRejection(checked: unknown): checked is Rejection {
  return typeof checked === 'object' && checked !== null && 'failure' in checked
}
