import { hash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Outbound } from '../../base/outbound/outbound.ts'
import type { Saml, SamlUrls, Settings } from '../../resources/index.ts'
import { EdgeError } from '../errors.ts'
import { CALLBACK_PATH } from '../sign-in-target.ts'
import { consumeOnce, type LoginStore, revokeEverywhere } from './login-store.ts'
import type { ReplayGuard } from './replay-guard.ts'
import { sanitizeReturnPath } from './return-to.ts'
import { type Revocations, toSubject } from './revocations.ts'
import type { CheckedLogout, Parties } from './saml-checks.ts'
import { SamlIdentityProvider } from './saml-identity-provider.ts'
import { MAX_ASSERTION_AGE_MS, MAX_CLOCK_SKEW_MS } from './saml-limits.ts'
import type { IdentityProvider } from './saml-metadata.ts'
import type { SamlWorkers } from './saml-pool.ts'
import { SamlWriter } from './saml-writer.ts'
import { createLifetime } from './session.ts'
import { type Identity, type SignIn, SignInError } from './sign-in.ts'
import type { SignInOrigin, Tickets } from './tickets.ts'

/** Long enough for a page of the route or a sealed state of ours. */
const MAX_RELAY_STATE_LENGTH = 4096

export interface SamlOptions {
  readonly accountId: string
  readonly scopeId: string
  /** The version of the gate. */
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
}

/** Whether this service provider, with these settings, currently serves an origin and path. */
export type ServesOrigin = (origin: string, path: string) => boolean

/** The SAML service provider of one route, used by its gate and by its URLs on the login host. */
export interface SamlServiceProvider extends SignIn {
  /** What its URLs name it by. */
  readonly name: string
  readonly scopeId: string
  readonly version: string
  /** The service provider metadata for the identity provider. */
  metadata(): Promise<string>
  /** Consumes a SAML response; returns the URL to continue at. */
  consumeResponse(form: URLSearchParams, serves: ServesOrigin): Promise<string>
  /** Handle a logout message in a query or a form; return the URL to continue at, if any. */
  logoutQuery(query: string): Promise<string | undefined>
  logoutForm(form: URLSearchParams): Promise<string | undefined>
}

/** Signs visitors in at a SAML identity provider. */
export function createSamlServiceProvider(options: SamlOptions): SamlServiceProvider {
  const { settings, urls, accountId, scopeId, version, tickets, workers } = options
  const { replayGuard, store, revocations, clock } = options
  const identityProvider = new SamlIdentityProvider({ ...options, ...settings })
  const writer = new SamlWriter(settings, urls)

  const consume = (id: string, ttlMs: number) =>
    consumeOnce({ replayGuard, store, now: clock.now() }, id, ttlMs)

  const toParties = (idp: IdentityProvider, address: string): Parties => ({
    idp,
    entityId: urls().entity_id,
    address,
  })

  async function validate(message: string, requestId: string): Promise<Identity> {
    const idp = await identityProvider.load()
    const { assertionId, identity } = await workers.check(accountId, {
      kind: 'response',
      parties: toParties(idp, urls().assertion_consumer_service_url),
      message,
      requestId,
      now: clock.now(),
    })
    // Keyed by the assertion id, which stays the same however the document around it is rewritten.
    const id = `assertion ${hash('sha256', `${idp.entityId} ${assertionId}`)}`
    if (!(await consume(id, MAX_ASSERTION_AGE_MS + 2 * MAX_CLOCK_SKEW_MS)))
      throw new Error('it was used already')
    return identity
  }

  function requireGroup(identity: Identity): Identity {
    const authorizedGroups = settings.authorized_groups
    if (authorizedGroups.length > 0 && !identity.groups.some((group) => authorizedGroups.includes(group)))
      throw new SignInError('you are not a member of a group with access to this page')
    return identity
  }

  return {
    name: options.name,
    scopeId,
    version,
    get label() {
      return urls().entity_id
    },
    async describeProvider() {
      const { entityId } = await identityProvider.load()
      return { name: URL.parse(entityId)?.hostname || entityId, url: entityId }
    },
    createMemory: () => ({}),

    async begin({ signInId }, state) {
      const idp = await identityProvider.load()
      return writer.authorizeUrl(idp, `_${signInId}`, state)
    },

    complete() {
      // Responses arrive by POST on the login host, which issues a ticket; nothing else can be completed here.
      throw new SignInError('the identity provider used a response method that is not supported')
    },

    // SAML has no tokens.
    renew: () => Promise.reject(new SignInError('this sign-in cannot be renewed')),
    identify: () => Promise.reject(new SignInError('this sign-in cannot be renewed')),

    metadata: () => writer.metadata(),

    async consumeResponse(form, serves) {
      const relayState = readRelayState(form)
      const state = tickets.openState(relayState)
      if (state !== undefined && (state.scopeId !== scopeId || state.version !== version))
        throw new SignInError('this sign-in is for another page')
      if (state !== undefined && !serves(state.origin, state.path))
        throw new SignInError('the page has changed since this sign-in began; open it again')
      const { returnTo, ...origin } = state
        ? { ...state, returnTo: '' }
        : createIdpInitiatedOrigin(relayState, serves)
      const requestId = state === undefined ? '' : `_${state.signInId}`
      const identity = await validate(form.get('SAMLResponse') ?? '', requestId).catch((error: unknown) => {
        if (error instanceof SignInError || error instanceof EdgeError) throw error
        throw new SignInError('the response from the identity provider was not valid', { cause: error })
      })
      return tickets.ticketUrl(origin, requireGroup(identity), { returnTo })
    },

    async logoutUrl(identity) {
      return writer.logoutUrl(await identityProvider.load(), identity)
    },

    signedOutSince: ({ id }, since) => revocations.isRevoked(scopeId, toSubject(id), since),

    async logoutQuery(query) {
      const idp = await identityProvider.load()
      const parties = toParties(idp, urls().single_logout_url)
      const checked = await workers
        .check(accountId, { kind: 'logout-query', parties, query })
        .catch(invalidLogout)
      // The response to a logout started here: that session has already ended.
      return checked === undefined ? undefined : signOut(idp, checked)
    },

    async logoutForm(form) {
      const message = form.get('SAMLRequest')
      if (message === null) return undefined
      const relayState = readRelayState(form)
      const idp = await identityProvider.load()
      const parties = toParties(idp, urls().single_logout_url)
      const checked = await workers
        .check(accountId, { kind: 'logout-form', parties, message })
        .catch(invalidLogout)
      return signOut(idp, { ...checked, relayState })
    },
  }

  /** Revokes all local sessions of the person named in a logout request. */
  async function signOut(idp: IdentityProvider, logout: CheckedLogout): Promise<string | undefined> {
    if (!(await consume(`log-out ${scopeId} ${logout.id}`, MAX_ASSERTION_AGE_MS)))
      throw new SignInError('the sign-out message has already been used')
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
    if (!settings.allow_idp_initiated) throw new SignInError('sign-ins must start at the page itself')
    const url = URL.parse(relayState)
    const { port } = new URL(urls().assertion_consumer_service_url)
    if (url === null || url.protocol !== 'https:' || url.port !== port || !serves(url.origin, url.pathname))
      throw new SignInError('the provider did not say which page to open')
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

function readRelayState(form: URLSearchParams): string {
  const relayState = form.get('RelayState') ?? ''
  if (relayState.length > MAX_RELAY_STATE_LENGTH) throw new SignInError('RelayState is too long')
  return relayState
}

function invalidLogout(error: unknown): never {
  throw error instanceof SignInError || error instanceof EdgeError
    ? error
    : new SignInError('the sign-out message was not valid', { cause: error })
}
