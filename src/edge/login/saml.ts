import { hash, randomBytes } from 'node:crypto'
import { generateServiceProviderMetadata, type Profile, SAML } from '@node-saml/node-saml'
import type { Clock } from '../../base/clock.ts'
import type { Outbound } from '../../base/outbound/outbound.ts'
import { METADATA_LIMITS, type Saml, type Settings } from '../../resources/index.ts'
import { Refusal, refusal } from '../errors.ts'
import { type LoginLedger, takeOnce } from './login-store.ts'
import type { Once } from './replay-guard.ts'
import { returnPath } from './return-to.ts'
import type { Endings } from './revocations.ts'
import { ASSERTION_MS, type CheckedLogout, type Parties, SKEW_MS } from './saml-checks.ts'
import { type IdentityProvider, requireUsableMetadata } from './saml-metadata.ts'
import type { SamlThread } from './saml-pool.ts'
import { lifetimeOf } from './session.ts'
import { type Identity, ProviderUnavailable, type SignIn, SignInRefused } from './sign-in.ts'
import { CALLBACK_PATH, type HandOver, type Origin } from './tickets.ts'

const REFETCH_MS = 60 * 60 * 1000
/** A page on the route, or what we gave the provider ourselves. */
const MAX_RELAY_STATE = 4096

export interface SamlOptions {
  readonly placeId: string
  /** That of the gate. */
  readonly version: string
  readonly settings: Settings<typeof Saml>
  readonly handOver: HandOver
  readonly once: Once
  readonly ledger: LoginLedger
  readonly endings: Endings
  readonly clock: Clock
  readonly outbound: Pick<Outbound, 'fetch'>
  readonly thread: SamlThread
}

/** Whether this place, with these settings, answers at an address of this edge right now. */
export type Serves = (origin: string, path: string) => boolean

/** The service provider of one route: what its gate and its addresses on the log-in host need. */
export interface SamlPlace extends SignIn {
  /** XML that describes this service provider to the identity provider. */
  metadata(): string
  /** Takes an answer of the identity provider; answers where the visitor goes on. */
  consume(form: URLSearchParams, serves: Serves): Promise<string>
  /** Takes a log-out message, as a query or as a form; answers where the visitor goes on. */
  logout(query: string): Promise<string | undefined>
  logoutPosted(form: URLSearchParams): Promise<string | undefined>
}

/** Signs visitors in at a SAML identity provider. */
export function createSamlPlace(options: SamlOptions): SamlPlace {
  const { settings, placeId, version, handOver, once, ledger, endings, clock, outbound, thread } = options
  // Broken metadata denies at once instead of at the first visitor, and its owner is told.
  if (settings.idp_metadata !== '') requireUsableMetadata(settings.idp_metadata, METADATA_LIMITS)
  let known: { idp: Promise<IdentityProvider>; at: number } | undefined

  /** The identity provider; read when it is first needed, and given metadata only once. */
  function provider(): Promise<IdentityProvider> {
    const isGiven = settings.idp_metadata !== ''
    if (known !== undefined && (isGiven || performance.now() - known.at < REFETCH_MS)) return known.idp
    const idp = (isGiven ? readGiven() : readFetched()).catch((error: unknown) => {
      // What was given stays as it is; everything else may be better the next time.
      if (!isBroken(error)) known = undefined
      throw error
    })
    known = { idp, at: performance.now() }
    return idp
  }

  function read(xml: string): Promise<IdentityProvider> {
    return thread.check(placeId, { kind: 'metadata', xml, limits: METADATA_LIMITS })
  }

  async function readGiven(): Promise<IdentityProvider> {
    try {
      return await read(settings.idp_metadata)
    } catch (error) {
      // A module that cannot do its work lets nobody in (P36).
      throw error instanceof Refusal ? error : refusal('module_broken', 'saml')
    }
  }

  async function readFetched(): Promise<IdentityProvider> {
    try {
      const response = await outbound.fetch(settings.idp_metadata_url)
      if (!response.ok) throw new Error(`the metadata address answered ${response.status}`)
      return await read(await response.text())
    } catch (error) {
      throw error instanceof Refusal ? error : new ProviderUnavailable({ cause: error })
    }
  }

  /** Writes our own messages; those of others are read in a thread. */
  function writer(idp: IdentityProvider, requestId = `_${randomBytes(16).toString('hex')}`): SAML {
    return new SAML({
      callbackUrl: settings.assertion_consumer_service_url,
      entryPoint: idp.ssoUrl,
      ...(idp.sloUrl !== undefined && { logoutUrl: idp.sloUrl }),
      issuer: settings.entity_id,
      idpCert: [...idp.certificates],
      privateKey: settings.request_signing_key_pem ?? '',
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
      identifierFormat: settings.nameid_format,
      forceAuthn: settings.force_authn,
      disableRequestedAuthnContext: true,
      generateUniqueId: () => requestId,
    })
  }

  const takeUp = (id: string, forMs: number) => takeOnce({ once, ledger, now: clock.now() }, id, forMs)

  const partiesAt = (idp: IdentityProvider, address: string): Parties => ({
    idp,
    entityId: settings.entity_id,
    address,
  })

  async function validate(message: string, requestId: string): Promise<Identity> {
    const idp = await provider()
    const { assertionId, identity } = await thread.check(placeId, {
      kind: 'response',
      parties: partiesAt(idp, settings.assertion_consumer_service_url),
      message,
      requestId,
      now: clock.now(),
    })
    // By its id, which stays the same however the rest of the document is written around it.
    const id = `assertion ${hash('sha256', `${idp.entityId} ${assertionId}`)}`
    if (!(await takeUp(id, ASSERTION_MS + 2 * SKEW_MS))) throw new Error('it was used already')
    return identity
  }

  function authorise(identity: Identity): Identity {
    const wanted = settings.authorized_groups
    if (wanted.length > 0 && !identity.groups.some((group) => wanted.includes(group)))
      throw new SignInRefused('you are not a member of a group that may see this page')
    return identity
  }

  return {
    label: settings.entity_id,
    remember: () => ({}),

    async begin({ signInId }, state) {
      const idp = await provider()
      return writer(idp, `_${signInId}`).getAuthorizeUrlAsync(state, undefined, {})
    },

    complete() {
      // Answers come by POST to the log-in host, which hands a ticket on; nothing else may be completed here.
      throw new SignInRefused('this is not how this provider answers')
    },

    metadata: () =>
      generateServiceProviderMetadata({
        issuer: settings.entity_id,
        callbackUrl: settings.assertion_consumer_service_url,
        logoutCallbackUrl: settings.single_logout_url,
        identifierFormat: settings.nameid_format,
        wantAssertionsSigned: true,
        publicCerts: settings.request_signing_certificate_pem,
        privateKey: settings.request_signing_key_pem ?? '',
        signatureAlgorithm: 'sha256',
        digestAlgorithm: 'sha256',
      }),

    async consume(form, serves) {
      const relay = relayStateOf(form)
      const state = handOver.openState(relay)
      if (state !== undefined && (state.place !== placeId || state.version !== version))
        throw new SignInRefused('this sign-in belongs elsewhere')
      if (state !== undefined && !serves(state.origin, state.path))
        throw new SignInRefused('the page has changed since this sign-in began; open it again')
      const { returnTo, ...origin } = state ? { ...state, returnTo: '' } : startedByProvider(relay, serves)
      const requestId = state === undefined ? '' : `_${state.signInId}`
      const identity = await validate(form.get('SAMLResponse') ?? '', requestId).catch((error: unknown) => {
        if (error instanceof SignInRefused || error instanceof Refusal) throw error
        throw new SignInRefused('the answer of the identity provider was not valid', { cause: error })
      })
      return handOver.ticketUrl(origin, authorise(identity), returnTo)
    },

    async logoutUrl({ id, atProvider = {} }) {
      const idp = await provider()
      if (idp.sloUrl === undefined) return undefined
      const profile: Profile = {
        issuer: idp.entityId,
        nameID: id,
        nameIDFormat: atProvider.format ?? settings.nameid_format,
        ...(atProvider.index !== undefined && { sessionIndex: atProvider.index }),
      }
      return writer(idp).getLogoutUrlAsync(profile, '', {})
    },

    signedOutSince: ({ id }, since) => endings.isOver(placeId, personOf(id), since),

    async logout(query) {
      const idp = await provider()
      const parties = partiesAt(idp, settings.single_logout_url)
      const checked = await thread
        .check(placeId, { kind: 'logout-query', parties, query })
        .catch(invalidLogout)
      // The answer to a log-out that began here: that session is over already.
      return checked === undefined ? undefined : signOut(idp, checked)
    },

    async logoutPosted(form) {
      const message = form.get('SAMLRequest')
      if (message === null) return undefined
      const relayState = relayStateOf(form)
      const idp = await provider()
      const parties = partiesAt(idp, settings.single_logout_url)
      const checked = await thread
        .check(placeId, { kind: 'logout-form', parties, message })
        .catch(invalidLogout)
      return signOut(idp, { ...checked, relayState })
    },
  }

  /** Ends all sessions here of the person a log-out request names. */
  async function signOut(
    idp: IdentityProvider,
    { id, issuer, nameId, nameIdFormat, relayState }: CheckedLogout,
  ): Promise<string | undefined> {
    if (!(await takeUp(`log-out ${placeId} ${id}`, ASSERTION_MS)))
      throw new SignInRefused('the log-out message was used already')
    await endAll(nameId)
    if (idp.sloUrl === undefined) return undefined
    const profile = { ID: id, issuer, nameID: nameId, nameIDFormat: nameIdFormat }
    return writer(idp).getLogoutResponseUrlAsync(profile, relayState, {}, true)
  }

  async function endAll(nameId: string): Promise<void> {
    const at = clock.now()
    const until = at + lifetimeOf(settings, 0).longest * 1000
    const ending = { place: placeId, subject: personOf(nameId), at, until }
    await ledger.end(ending).catch(() => {
      throw refusal('login_unavailable')
    })
    endings.add(ending, at)
  }

  /** A log-in the provider began by itself names the page to go on with, which has to be this place's own. */
  function startedByProvider(relay: string, serves: Serves): Origin & { returnTo: string } {
    if (!settings.allow_idp_initiated) throw new SignInRefused('sign-ins have to begin at the page itself')
    const url = URL.parse(relay)
    const { port } = new URL(settings.assertion_consumer_service_url)
    if (url === null || url.protocol !== 'https:' || url.port !== port || !serves(url.origin, url.pathname))
      throw new SignInRefused('the provider did not say which page to open')
    return {
      place: placeId,
      version,
      origin: url.origin,
      signInId: '',
      browser: '',
      path: serves(url.origin, CALLBACK_PATH) ? CALLBACK_PATH : url.pathname,
      returnTo: returnPath(`${url.pathname}${url.search}`),
    }
  }
}

/** The database of all nodes need not hold who signs out, only that somebody did. */
function personOf(nameId: string): string {
  return `person ${hash('sha256', nameId)}`
}

function relayStateOf(form: URLSearchParams): string {
  const relayState = form.get('RelayState') ?? ''
  if (relayState.length > MAX_RELAY_STATE) throw new SignInRefused('RelayState is too long')
  return relayState
}

function isBroken(error: unknown): boolean {
  return error instanceof Refusal && error.name === 'module_broken'
}

function invalidLogout(error: unknown): never {
  throw error instanceof SignInRefused || error instanceof Refusal
    ? error
    : new SignInRefused('the log-out message was not valid', { cause: error })
}
