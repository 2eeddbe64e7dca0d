import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { createSelfSigned } from '../../src/certs/index.ts'
import { CookieClient } from '../support/browser-client.ts'
import { type ForgedOverrides, startForgingRoute, toOutcome } from './forged-responses.ts'
import { forgeResponse, statusCode, wrappings } from './saml-forge.ts'
import { idpMetadata } from './saml-route.ts'

/*
 * What SAML 2.0 Web Browser SSO (profiles, section 4.1) and the known attacks on it require of a service provider, one case
 * each; saml-attacks.test.ts has their variants, saml.test.ts single logout. These do not apply: HTTP-Artifact and PAOS
 * bindings (only HTTP-Redirect for requests and HTTP-POST for responses are offered), and encrypted names and attributes (no
 * encryption key is published).
 */

async function createKey(commonName: string) {
  const { certificatePem, privateKeyPem } = await createSelfSigned({ commonName })
  return { cert: certificatePem, key: privateKeyPem.reveal() }
}

const currentKey = await createKey('current')
const nextKey = await createKey('next')
const encryptionKey = await createKey('encryption')
const unknownKey = await createKey('stranger')

type ForgingRoute = Awaited<ReturnType<typeof startForgingRoute>>

/** What a browser gets: a session, 403, or 500 where the provider or the route is set up wrongly. */
const results = { accepts: 'ada-id', rejects: 403, 'finds set up wrongly': 500 } as const

interface Case {
  readonly outcome: keyof typeof results
  /** How the response differs from a valid one. */
  readonly overrides?: ForgedOverrides
  /** Modifies the response after it is signed. */
  readonly tamper?: (xml: string) => string
  /** Replaces the default flow, which begins at the page and posts one response. */
  readonly deliver?: (route: ForgingRoute) => Promise<string | number>
}

const accepts = (overrides: ForgedOverrides = {}): Case => ({ outcome: 'accepts', overrides })
const rejects = (overrides: ForgedOverrides, tamper?: Case['tamper']): Case => ({
  outcome: 'rejects',
  overrides,
  ...(tamper && { tamper }),
})

const misconfigured = (...args: Parameters<typeof rejects>): Case => ({
  ...rejects(...args),
  outcome: 'finds set up wrongly',
})

/** Posts an unsolicited response. */
async function initiate({ post, platform, url }: ForgingRoute, xml: string): Promise<string | number> {
  return toOutcome(await post(xml, `${url}/page`, new CookieClient(platform)))
}

const cases: Record<string, Case> = {
  // Signatures
  'assertion signed, response not': accepts({ sign: 'assertion' }),
  'response signed, assertion not': accepts({ sign: 'response' }),
  'response and assertion signed': accepts({ sign: 'both' }),
  'nothing signed': misconfigured({ sign: 'none' }),
  'signature removed': misconfigured({}, (xml) => xml.replace(/<Signature\b[\s\S]*?<\/Signature>/, '')),
  'content changed after signing': rejects({}, (xml) => xml.replace('>ada-id<', '>root<')),
  'signed by an unknown certificate': rejects({ key: unknownKey.key }),
  'signed by the provider’s encryption key': rejects({ key: encryptionKey.key }),
  'SHA-1 signature': misconfigured({ signatureAlgorithm: 'sha1' }),
  'SHA-1 digest': misconfigured({ digestAlgorithm: 'sha1' }),
  'key rollover: signed by the first of two certificates in the metadata': accepts({ key: currentKey.key }),
  'key rollover: signed by the second of two certificates in the metadata': accepts({ key: nextKey.key }),
  ...Object.fromEntries(
    Object.entries(wrappings).flatMap(([name, wrap]) =>
      (['assertion', 'response', 'both'] as const).map((sign) => [
        `${name} (signed: ${sign})`,
        rejects({ sign }, wrap),
      ]),
    ),
  ),

  // Times
  'expired conditions': misconfigured({ notOnOrAfter: -70, issued: -300 }),
  'expired confirmation': misconfigured({ confirmedUntil: -70, issued: -300 }),
  'not yet valid': misconfigured({ notBefore: 70 }),
  'expired within the tolerance for clocks': accepts({
    notOnOrAfter: -50,
    confirmedUntil: -50,
    issued: -300,
  }),
  'not yet valid within the tolerance for clocks': accepts({ notBefore: 50, issued: 50 }),

  // Parties
  'wrong issuer': rejects({ issuer: 'urn:other:idp' }),
  'wrong audience': rejects({ audience: 'urn:other:sp' }),
  'no audience': rejects({ audience: null }),
  'wrong recipient': rejects({ recipient: 'https://other.example/acs' }),
  'no recipient': rejects({ recipient: null }),
  'wrong destination': rejects({ destination: 'https://other.example/acs' }),
  'confirmation method other than bearer': rejects({
    method: 'urn:oasis:names:tc:SAML:2.0:cm:holder-of-key',
  }),

  // Requests
  'wrong InResponseTo in the response': rejects({ requestId: '_other' }),
  'wrong InResponseTo in the assertion': rejects({ subjectRequestId: '_other' }),
  'no InResponseTo where there was a request': rejects({ requestId: null }),
  'unsolicited response': {
    outcome: 'accepts',
    deliver: (route) => initiate(route, forgeResponse(route.validFields)),
  },
  'unsolicited response with an InResponseTo': {
    outcome: 'rejects',
    deliver: (route) => initiate(route, forgeResponse({ ...route.validFields, requestId: '_other' })),
  },
  'replayed assertion': {
    outcome: 'rejects',
    async deliver(route) {
      const xml = forgeResponse(route.validFields)
      assert.equal(await initiate(route, xml), 'ada-id')
      return initiate(route, xml)
    },
  },
  'replayed assertion in another response': {
    outcome: 'rejects',
    async deliver(route) {
      const assertionId = '_replayed'
      assert.equal(await initiate(route, forgeResponse({ ...route.validFields, assertionId })), 'ada-id')
      return initiate(route, forgeResponse({ ...route.validFields, assertionId }))
    },
  },

  // Contents
  'status Requester': misconfigured({ status: statusCode('Requester') }),
  'status Responder with AuthnFailed': rejects({ status: statusCode('Responder', 'AuthnFailed') }),
  'no status': rejects({ status: '' }),
  'no NameID': rejects({ nameId: null }),
  'comment in NameID after signing': rejects({}, (xml) => xml.replace('>ada-id<', '>ada<!-- -->-id<')),
  'comment in NameID before signing': rejects({ nameId: 'ada<!-- -->-id' }),
  'document type declaration': rejects({}, (xml) => `<!DOCTYPE r [<!ENTITY e "x">]>${xml}`),
  'encrypted assertion': {
    outcome: 'rejects',
    async deliver(route) {
      const { idp, saml } = route
      const { publicKey } = new X509Certificate(saml.request_signing_certificate_pem)
      const xml = await idp.respond(saml.entity_id, saml.assertion_consumer_service_url, {
        ...currentKey,
        encryptionCert: saml.request_signing_certificate_pem,
        encryptionPublicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      })
      assert.match(xml, /<[\w:]*EncryptedAssertion\b/)
      return initiate(route, xml)
    },
  },
}

test('a service provider of SAML 2.0 Web SSO', async (t) => {
  const metadata = idpMetadata({ signing: [currentKey.cert, nextKey.cert], encryption: [encryptionKey.cert] })
  const route = await startForgingRoute(t, { idp_metadata: metadata })
  route.validFields.key = currentKey.key

  for (const [name, { outcome, overrides, tamper, deliver }] of Object.entries(cases))
    await t.test(`${outcome}: ${name}`, async () => {
      const result = await (deliver?.(route) ?? route.attempt(overrides, tamper))
      assert.equal(result, results[outcome])
    })
})
