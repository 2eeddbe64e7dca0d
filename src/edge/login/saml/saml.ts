import { hash } from 'node:crypto'
import type { Outbound } from '../../../base/outbound/outbound.ts'
import type { Clock } from '../../../base/values/clock.ts'
import type { Saml, SamlUrls, Settings } from '../../../resources/index.ts'
import { CALLBACK_PATH } from '../../sign-in-target.ts'
import { sanitizeReturnPath } from '../return-to.ts'
import { consumeOnce, type LoginStore, revokeEverywhere } from '../sessions/login-store.ts'
import type { ReplayGuard } from '../sessions/replay-guard.ts'
import { type Revocations, toSubject } from '../sessions/revocations.ts'
import { createLifetime } from '../sessions/session.ts'
import type { SignInOrigin, SignInState, Tickets } from '../sessions/tickets.ts'
import { GrantRevoked, type Identity, type SignIn, SignInError } from '../sign-in.ts'
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
export interface SamlServiceProvider extends SignIn {
  /** What its URLs name it by. */
  readonly name: string
  readonly scopeId: string
  readonly version: string
  /** The service provider metadata for the identity provider. */
  metadata(): Promise<string>
  /** The `RelayState` of a form. */
  readRelayState(form: URLSearchParams): string
  /** Consumes the response to a request; returns the URL to continue at. */
  consumeResponse(form: URLSearchParams, state: SignInState): Promise<string>
  /** Consumes a response that the provider sent by itself. */
  consumeUnsolicited(form: URLSearchParams, serves: ServesOrigin): Promise<string>
  /** Handle a logout message in a query or a form; return the URL to continue at, if any. */
  logoutQuery(query: string): Promise<string | undefined>
  logoutForm(form: URLSearchParams): Promise<string | undefined>
}

/** Signs visitors in at a SAML identity provider. */
export function createSamlServiceProvider(options: SamlOptions): SamlServiceProvider {
  const { settings, urls, accountId, scopeId, version, tickets, workers } = options
  const { replayGuard, store, revocations, clock } = options
  const identityProvider = new SamlIdentityProvider({ ...options, ...settings })
  const writer = new SamlWriter(settings, urls, options.requestKey)

  const consume = (id: string, ttlMs: number) =>
    consumeOnce({ replayGuard, store, now: clock.now() }, id, ttlMs)

  const toParties = (idp: IdentityProvider, address: string): Parties => ({
    idp,
    entityId: urls().entity_id,
    address,
  })

  /**
   * Checks a message; throws `SignInError`. One that is signed with an unknown key is checked once more if there is newer
   * metadata: providers replace their keys.
   */
  async function check<C extends SamlCheck>(createCheck: (idp: IdentityProvider) => C) {
    const run = (idp: IdentityProvider) => workers.check(accountId, createCheck(idp))
    const current = await identityProvider.load()
    const first = await run(current)
    const newer =
      isRejection(first) && first.isKeyUnknown ? await identityProvider.loadNewer(current) : undefined
    const checked = requireAccepted(newer === undefined ? first : await run(newer))
    return { idp: newer ?? current, checked }
  }

  async function validate(form: URLSearchParams, requestId: string): Promise<Identity> {
    const { idp, checked } = await check((idp) => ({
      kind: 'response',
      parties: toParties(idp, urls().assertion_consumer_service_url),
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
    if (!(await consume(id, MAX_ASSERTION_AGE_MS + 2 * MAX_CLOCK_SKEW_MS))) throw new SignInError('completed')
    return requireGroup(checked.identity)
  }

  function requireGroup(identity: Identity): Identity {
    const authorizedGroups = settings.authorized_groups
    if (authorizedGroups.length > 0 && !identity.groups.some((group) => authorizedGroups.includes(group)))
      throw new SignInError('group_not_allowed', { person: identity.email || identity.name || identity.id })
    return identity
  }

  return {
    name: options.name,
    scopeId,
    version,
    get label() {
      return urls().entity_id
    },
    get provider() {
      return identityProvider.name
    },
    async describeProvider() {
      const { entityId } = await identityProvider.load()
      return { name: URL.parse(entityId)?.hostname || entityId, url: entityId }
    },
    createMemory: () => ({}),

    async begin({ signInId }, state, { switchesAccount = false } = {}) {
      const idp = await identityProvider.load()
      return writer.authorizeUrl(idp, { requestId: `_${signInId}`, relayState: state, switchesAccount })
    },

    complete() {
      // Responses arrive by POST on the login host, which issues a ticket; nothing else can be completed here.
      throw new SignInError('response_invalid')
    },

    renew: () => Promise.reject(new GrantRevoked('SAML has no tokens')),
    identify: () => Promise.reject(new GrantRevoked('SAML has no tokens')),

    metadata: () => writer.metadata(),

    readRelayState(form) {
      const relayState = form.get('RelayState') ?? ''
      if (relayState.length > MAX_RELAY_STATE_LENGTH) throw new SignInError('response_invalid')
      return relayState
    },

    async consumeResponse(form, state) {
      const identity = await validate(form, `_${state.signInId}`)
      return tickets.ticketUrl(state, identity, { returnTo: state.returnTo ?? '' })
    },

    async consumeUnsolicited(form, serves) {
      const { returnTo, ...origin } = createIdpInitiatedOrigin(form.get('RelayState') ?? '', serves)
      return tickets.ticketUrl(origin, await validate(form, ''), { returnTo })
    },

    async logoutUrl(identity) {
      return writer.logoutUrl(await identityProvider.load(), identity)
    },

    signedOutSince: ({ id }, since) => revocations.isRevoked(scopeId, toSubject(id), since),

    async logoutQuery(query) {
      const { idp, checked } = await check((idp) => ({
        kind: 'logout-query',
        parties: toParties(idp, urls().single_logout_url),
        query,
      }))
      // The response to a logout started here: that session has already ended.
      return checked === undefined ? undefined : signOut(idp, checked)
    },

    async logoutForm(form) {
      const message = form.get('SAMLRequest')
      if (message === null) return undefined
      const relayState = this.readRelayState(form)
      const { idp, checked } = await check((idp) => ({
        kind: 'logout-form',
        parties: toParties(idp, urls().single_logout_url),
        message,
      }))
      return signOut(idp, { ...checked, relayState })
    },
  }

  /** Revokes all local sessions of the person named in a logout request. */
  async function signOut(idp: IdentityProvider, logout: CheckedLogout): Promise<string | undefined> {
    if (!(await consume(`log-out ${scopeId} ${logout.id}`, MAX_ASSERTION_AGE_MS)))
      throw new SignInError('logout_invalid', { cause: new Error('it was used already') })
    await revokeSessions(logout.nameId)
    return writer.logoutResponseUrl(idp, logout)
  }

  async function revokeSessions(nameId: string): Promise<void> {
    const now = clock.now()
    const expiresAt = now + createLifetime(settings, 0).maxSeconds * 1000
    const revocation = { scopeId, subject: toSubject(nameId), latestStart: now, expiresAt }
    await revokeEverywhere({ store, revocations, now }, revocation)
  }

  /**
   * The origin of an IdP-initiated sign-in. RelayState names the page, which must be served by this service provider.
   */
  function createIdpInitiatedOrigin(
    relayState: string,
    serves: ServesOrigin,
  ): SignInOrigin & { returnTo: string } {
    if (!settings.allow_idp_initiated) throw new SignInError('idp_initiated_off')
    const url = URL.parse(relayState)
    const { port } = new URL(urls().assertion_consumer_service_url)
    if (url === null || url.protocol !== 'https:' || url.port !== port || !serves(url.origin, url.pathname))
      throw new SignInError('page_unknown')
    return {
      scopeId,
      version,
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
