import { hash, randomBytes } from 'node:crypto'
import {
  generateServiceProviderMetadata,
  type Profile,
  SAML,
  type SamlConfig,
  ValidateInResponseTo,
} from '@node-saml/node-saml'
import type { Clock } from '../../base/clock.ts'
import type { Outbound } from '../../base/outbound.ts'
import type { Saml, Settings } from '../../resources/index.ts'
import { Refusal, refusal } from '../refusals.ts'
import type { Endings } from './endings.ts'
import { CALLBACK_PATH, type HandOver, type Origin } from './hand-over.ts'
import { type LoginLedger, takeOnce } from './ledger.ts'
import type { Once } from './once.ts'
import { returnPath } from './return-to.ts'
import { requireForUs } from './saml-assertion.ts'
import { readSignedQuery } from './saml-logout.ts'
import { readPostedMessage } from './saml-message.ts'
import { type IdentityProvider, readIdpMetadata } from './saml-metadata.ts'
import { lifetimeOf } from './session.ts'
import { type Identity, ProviderUnavailable, type SignIn, SignInRefused } from './sign-in.ts'
import { requirePlainXml } from './xml-limits.ts'

const SKEW_MS = 60_000
const ASSERTION_MS = 15 * 60 * 1000
const REFETCH_MS = 60 * 60 * 1000
const GROUP_ATTRIBUTES = [
  'groups',
  'group',
  'memberOf',
  'http://schemas.xmlsoap.org/claims/Group',
  'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups',
]
const EMAIL_ATTRIBUTES = [
  'email',
  'mail',
  'urn:oid:0.9.2342.19200300.100.1.3',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
]
const NAME_ATTRIBUTES = [
  'name',
  'displayName',
  'cn',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name',
]

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
  const { settings, placeId, version, handOver, once, ledger, endings, clock, outbound } = options
  // Reading given metadata early makes a broken one deny at once instead of at the first visitor.
  const fixed = settings.idp_metadata === '' ? undefined : readIdpMetadata(settings.idp_metadata)
  let fetched: { idp: Promise<IdentityProvider>; at: number } | undefined

  function provider(): Promise<IdentityProvider> {
    if (fixed !== undefined) return Promise.resolve(fixed)
    if (fetched !== undefined && performance.now() - fetched.at < REFETCH_MS) return fetched.idp
    const idp = outbound
      .fetch(settings.idp_metadata_url)
      .then(async (response) => {
        if (!response.ok) throw new Error(`the metadata address answered ${response.status}`)
        return readIdpMetadata(await response.text())
      })
      .catch((error: unknown) => {
        fetched = undefined
        throw new ProviderUnavailable({ cause: error })
      })
    fetched = { idp, at: performance.now() }
    return idp
  }

  /** One sign-in at a time: its request id is the id of the sign-in, so that any node can check what it answers. */
  function samlFor(idp: IdentityProvider, pendingId: string): SAML {
    const requestId = `_${pendingId}`
    const config: SamlConfig = {
      callbackUrl: settings.assertion_consumer_service_url,
      entryPoint: idp.ssoUrl,
      ...(idp.sloUrl !== undefined && { logoutUrl: idp.sloUrl }),
      issuer: settings.entity_id,
      audience: settings.entity_id,
      ...(idp.entityId !== '' && { idpIssuer: idp.entityId }),
      idpCert: [...idp.certificates],
      privateKey: settings.request_signing_key_pem ?? '',
      signatureAlgorithm: 'sha256',
      digestAlgorithm: 'sha256',
      identifierFormat: settings.nameid_format,
      forceAuthn: settings.force_authn,
      disableRequestedAuthnContext: true,
      // Either signature covers the assertion, and one of them has to be there: many providers sign the answer alone.
      wantAssertionsSigned: false,
      wantAuthnResponseSigned: false,
      acceptedClockSkewMs: SKEW_MS,
      // For as long as it is remembered that one was used.
      maxAssertionAgeMs: ASSERTION_MS,
      validateInResponseTo: pendingId === '' ? ValidateInResponseTo.never : ValidateInResponseTo.always,
      generateUniqueId: () => (pendingId === '' ? `_${randomBytes(16).toString('hex')}` : requestId),
      cacheProvider: {
        saveAsync: async (key, value) => ({ value, createdAt: Date.now(), key }),
        getAsync: async (key) => (key === requestId ? new Date(clock.now()).toISOString() : null),
        removeAsync: async (key) => key,
      },
    }
    return new SAML(config)
  }

  const takeUp = (id: string, forMs: number) => takeOnce({ once, ledger, now: clock.now() }, id, forMs)

  async function validate(form: URLSearchParams, pendingId: string): Promise<Profile> {
    const idp = await provider()
    const response = form.get('SAMLResponse') ?? ''
    const xml = readPostedMessage(response)
    const destination = /<(?:[\w-]+:)?Response\b[^>]*?\sDestination\s*=\s*["']([^"']*)/.exec(xml)?.[1]
    if (destination !== undefined && destination !== settings.assertion_consumer_service_url)
      throw new Error('it is meant for another receiver')
    const { profile } = await samlFor(idp, pendingId).validatePostResponseAsync({ SAMLResponse: response })
    if (profile === null) throw new Error('it says nothing about anybody')
    const id = requireForUs(profile.getAssertion?.() ?? {}, {
      issuer: idp.entityId,
      acs: settings.assertion_consumer_service_url,
      requestId: pendingId === '' ? '' : `_${pendingId}`,
      now: clock.now(),
      skew: SKEW_MS,
      oldest: ASSERTION_MS,
    })
    // By its id, which stays the same however the rest of the document is written around it.
    if (!(await takeUp(`assertion ${hash('sha256', `${idp.entityId} ${id}`)}`, ASSERTION_MS + 2 * SKEW_MS)))
      throw new Error('it was used already')
    return profile
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
      return samlFor(idp, signInId).getAuthorizeUrlAsync(state, undefined, {})
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
      const relay = form.get('RelayState') ?? ''
      const state = handOver.openState(relay)
      if (state !== undefined && (state.place !== placeId || state.version !== version))
        throw new SignInRefused('this sign-in belongs elsewhere')
      if (state !== undefined && !serves(state.origin, state.path))
        throw new SignInRefused('the page has changed since this sign-in began; open it again')
      const { returnTo, ...origin } = state ? { ...state, returnTo: '' } : startedByProvider(relay, serves)
      const profile = await validate(form, origin.signInId).catch((error: unknown) => {
        if (error instanceof SignInRefused || error instanceof Refusal) throw error
        throw new SignInRefused('the answer of the identity provider was not valid', { cause: error })
      })
      return handOver.ticketUrl(origin, authorise(identityOf(profile)), returnTo)
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
      return samlFor(idp, '').getLogoutUrlAsync(profile, '', {})
    },

    signedOutSince: ({ id }, since) => endings.isOver(placeId, personOf(id), since),

    async logout(query) {
      const message = await readSignedQuery(query, requirePlainXml).catch(invalidLogout)
      // The answer to a log-out that began here: that session is over already.
      if (message === undefined) return undefined
      const { container, ordered } = message
      return signOut(
        (saml) => saml.validateRedirectAsync(container, ordered),
        message.xml,
        container.RelayState ?? '',
      )
    },

    async logoutPosted(form) {
      const SAMLRequest = form.get('SAMLRequest')
      if (SAMLRequest === null) return undefined
      const xml = await Promise.resolve(SAMLRequest).then(readPostedMessage).catch(invalidLogout)
      return signOut(
        (saml) => saml.validatePostRequestAsync({ SAMLRequest }),
        xml,
        form.get('RelayState') ?? '',
      )
    },
  }

  /** Ends all sessions here of the person a log-out request names. */
  async function signOut(
    check: (saml: SAML) => Promise<{ profile: Profile | null }>,
    xml: string,
    relay: string,
  ): Promise<string | undefined> {
    const idp = await provider()
    const saml = samlFor(idp, '')
    const { profile } = await Promise.resolve()
      .then(() => check(saml))
      .catch(invalidLogout)
    if (profile === null) return undefined
    const destination = /<(?:[\w-]+:)?LogoutRequest\b[^>]*?\sDestination="([^"]*)"/.exec(xml)?.[1]
    if (destination !== undefined && destination !== settings.single_logout_url)
      throw new SignInRefused('the log-out message was meant for another receiver')
    if (!(await takeUp(`log-out ${placeId} ${profile.ID}`, ASSERTION_MS)))
      throw new SignInRefused('the log-out message was used already')
    await endAll(profile.nameID)
    return idp.sloUrl === undefined ? undefined : saml.getLogoutResponseUrlAsync(profile, relay, {}, true)
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

function invalidLogout(error: unknown): never {
  throw error instanceof SignInRefused
    ? error
    : new SignInRefused('the log-out message was not valid', { cause: error })
}

function identityOf(profile: Profile): Identity {
  const values = (names: readonly string[]): string[] =>
    names.flatMap((name) => {
      const value = profile[name]
      return Array.isArray(value) ? value.map(String) : typeof value === 'string' ? [value] : []
    })
  const isAddress = profile.nameIDFormat?.endsWith(':emailAddress') === true
  return {
    id: profile.nameID,
    name: values(NAME_ATTRIBUTES)[0] ?? '',
    email: values(EMAIL_ATTRIBUTES)[0] ?? (isAddress ? profile.nameID : ''),
    groups: values(GROUP_ATTRIBUTES),
    claims: {},
    atProvider: {
      ...(profile.nameIDFormat && { format: profile.nameIDFormat }),
      ...(profile.sessionIndex && { index: profile.sessionIndex.slice(0, 256) }),
    },
  }
}
