import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSelfSigned } from '../../src/certs/index.ts'
import { CookieClient } from '../support/browser-client.ts'
import { type ForgedOverrides, startForgingRoute as start, toOutcome } from './forged-responses.ts'
import { forgeResponse, samlAttribute, statusCode, wrappings } from './saml-forge.ts'
import { startSamlRoute } from './saml-route.ts'

const REJECTED_REQUESTS = new Set(['Requester', 'Responder', 'Responder with Success', 'lower case'])
/** What a provider with old settings could send, for all that a route knows. */
const OLD_SIGNATURE = 'with SHA-1 in single quotes'

test('a route accepts valid responses only', async (t) => {
  const { attempt, initiate, validFields, post, platform, url } = await start(t)

  await t.test('a valid response signs in with up to a minute of clock skew', async () => {
    assert.equal(await attempt(), 'ada-id')
    assert.equal(await attempt({ sign: 'response' }), 'ada-id')
    assert.equal(await attempt({ sign: 'both' }), 'ada-id')
    assert.equal(await attempt({ signatureAlgorithm: 'sha512', digestAlgorithm: 'sha512' }), 'ada-id')
    assert.equal(await attempt({ notBefore: 50, issued: 50 }), 'ada-id', 'from a clock that is ahead')
    assert.equal(
      await attempt({ notOnOrAfter: -50, confirmedUntil: -50, issued: -300 }),
      'ada-id',
      'to one that is',
    )
    assert.equal(await attempt({ destination: null }), 'ada-id')
    assert.equal(await initiate(), 'ada-id')
  })

  await t.test('none of the eight signature wrapping attacks signs in', async () => {
    for (const sign of ['assertion', 'response', 'both'] as const)
      for (const [title, wrap] of Object.entries(wrappings)) {
        assert.equal(await attempt({ sign }, wrap), 403, `${title}, ${sign} signed`)
        assert.equal(
          await initiate({ sign }, wrap),
          403,
          `${title}, ${sign} signed, initiated by the provider`,
        )
      }
  })

  await t.test('a response with one wrong or missing part is rejected', async () => {
    const otherKey = (await createSelfSigned({ commonName: 'other' })).privateKeyPem.reveal()
    const invalid: Record<string, ForgedOverrides> = {
      'signed by another key': { key: otherKey },
      'of another issuer': { issuer: 'urn:other:idp' },
      'for another audience': { audience: 'urn:other' },
      'for a prefix of the audience': { audience: 'https://idp.adit.localhost' },
      'for no audience': { audience: null },
      'for another destination': { destination: 'https://else.example/acs' },
      'for another recipient': { recipient: 'https://else.example/acs' },
      'for no recipient': { recipient: null },
      'with a confirmation method other than bearer': {
        method: 'urn:oasis:names:tc:SAML:2.0:cm:holder-of-key',
      },
      'with an unlimited confirmation': { confirmedUntil: null },
      'with a confirmation that has NotBefore': { confirmedFrom: -10 },
      'without a NameID': { nameId: null },
      'with an empty NameID': { nameId: '' },
    }
    // What a provider or a clock that is set up wrongly sends is told apart where a browser asked for it.
    const misconfigured: Record<string, ForgedOverrides> = {
      'not signed': { sign: 'none' },
      'signed with SHA-1': { signatureAlgorithm: 'sha1' },
      'digested with SHA-1': { digestAlgorithm: 'sha1' },
      'not valid yet': { notBefore: 70 },
      expired: { notOnOrAfter: -70, issued: -300 },
      'with an expired confirmation': { confirmedUntil: -70, issued: -300 },
      'issued in the future': { issued: 70 },
      'issued long ago': { issued: -17 * 60 },
    }
    for (const [status, responses] of [[403, invalid] as const, [500, misconfigured] as const])
      for (const [title, overrides] of Object.entries(responses)) {
        assert.equal(await attempt(overrides), status, title)
        assert.equal(
          await attempt({ sign: 'response', ...overrides }),
          status,
          `${title}, with the response signed`,
        )
        assert.equal(await initiate(overrides), 403, `${title}, initiated by the provider`)
      }
    assert.equal(await attempt({ requestId: '_other' }), 403, 'another request')
    assert.equal(await attempt({ subjectRequestId: '_other' }), 403, 'another request in what is signed')
    assert.equal(await attempt({ requestId: null }), 403, 'no request')
    assert.equal(await attempt({ subjectRequestId: null }), 403, 'no request in what is signed')
    assert.equal(await initiate({ requestId: '_other' }), 403, 'a request, where there was none')
    assert.equal(await initiate({ subjectRequestId: '_other' }), 403, 'a request in what is signed')
  })

  await t.test('a response without a success status is rejected, whatever else it contains', async () => {
    const statuses = {
      none: '',
      Requester: statusCode('Requester'),
      Responder: statusCode('Responder'),
      'Responder with AuthnFailed': statusCode('Responder', 'AuthnFailed'),
      'Responder with Success': statusCode('Responder', 'Success'),
      'two codes': statusCode('Success') + statusCode('Responder'),
      'lower case': statusCode('success'),
      'a code in another element': `<samlp:StatusDetail>${statusCode('Success')}</samlp:StatusDetail>`,
    }
    for (const sign of ['assertion', 'response', 'both'] as const) {
      for (const [title, status] of Object.entries(statuses)) {
        // The provider rejects the request, not the person.
        const rejection = REJECTED_REQUESTS.has(title) ? 500 : 403
        assert.equal(await attempt({ sign, status }), rejection, `${title}, ${sign} signed`)
        assert.equal(
          await initiate({ sign, status }),
          403,
          `${title}, ${sign} signed, initiated by the provider`,
        )
      }
      assert.equal(await attempt({ sign }, (xml) => xml.replace(/<samlp:Status>.*<\/samlp:Status>/, '')), 403)
      assert.equal(await attempt({ sign, status: statusCode('Success', 'PartialLogout') }), 'ada-id')
    }
  })

  await t.test('a response in ambiguous or hostile XML is rejected', async () => {
    const inName = (text: string) => (xml: string) => xml.replace('>ada-id<', `>${text}<`)
    const tamperings: Record<string, (xml: string) => string> = {
      'with another name': inName('root'),
      'with a comment in the name': inName('ada<!-- -->-id'),
      'with an empty comment behind the name': inName('ada-id<!---->'),
      'with CDATA as the name': inName('<![CDATA[ada-id]]>'),
      'with a processing instruction in the name': inName('ada<?x y?>-id'),
      'with a document type': (xml) => `<!DOCTYPE r>${xml}`,
      'with a document type in lower case': (xml) => `<!doctype r>${xml}`,
      'with an external entity': (xml) =>
        `<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]>${inName('&x;')(xml)}`,
      'with nested entities': (xml) =>
        `<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>${inName('&b;')(xml)}`,
      'with a parameter entity': (xml) =>
        `<!DOCTYPE r [<!ENTITY % x SYSTEM "http://127.0.0.1:1/">%x;]>${xml}`,
      'with an undeclared entity': inName('&x;'),
      'with two roots': (xml) => xml + xml,
      'with a preceding root': (xml) => `<x/>${xml}`,
      'with a duplicate id': (xml) => xml.replace(/<samlp:Status>/, '<samlp:Status ID="_twice" Id="_twice">'),
      'with the id of the assertion on another element': (xml) => {
        const id = /<saml:Assertion [^>]*ID="([^"]+)"/.exec(xml)?.[1]
        return xml.replace('<samlp:Status>', `<samlp:Status ID="${id}">`)
      },
      'in UTF-16': (xml) => Buffer.from(xml, 'utf16le').toString('latin1'),
      'that says it is in UTF-7': (xml) => `<?xml version="1.0" encoding="UTF-7"?>${xml}`,
      'that says it is in Latin-1': (xml) => `<?xml version="1.0" encoding="ISO-8859-1"?>${xml}`,
      'with SHA-1 in single quotes': (xml) =>
        xml.replace(/Algorithm="[^"]*#rsa-sha256"/, "Algorithm='http://www.w3.org/2000/09/xmldsig#rsa-sha1'"),
      'with SHA-1 behind a character reference': (xml) =>
        xml.replace(
          /Algorithm="[^"]*#rsa-sha256"/,
          'Algorithm="http://www.w3.org/2000/09/xmldsig#rsa-&#115;ha1"',
        ),
      'with an HMAC signature method': (xml) => xml.replace(/#rsa-sha256"/, '#hmac-sha256"'),
      'with an XSLT transform': (xml) =>
        xml.replace(
          /<Transforms>/,
          '<Transforms><Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"/>',
        ),
      'with an XPath transform': (xml) =>
        xml.replace(
          /<Transforms>/,
          '<Transforms><Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"/>',
        ),
      'with too many transforms': (xml) => xml.replace(/(<Transform [^>]*exc-c14n#"\/>)/, '$1$1$1'),
      'with a duplicate signature': (xml) => xml.replace(/(<Signature\b[\s\S]*?<\/Signature>)/, '$1$1'),
      'with an empty digest': (xml) => xml.replace(/<DigestValue>[^<]*/, '<DigestValue>'),
      'with a comment in the digest': (xml) => xml.replace(/<DigestValue>/, '<DigestValue><!--x-->'),
      'with two digests': (xml) =>
        xml.replace(/(<DigestValue>[^<]*<\/DigestValue>)/, '<DigestValue>AAAA</DigestValue>$1'),
      'with two SignedInfo elements': (xml) => xml.replace(/(<SignedInfo>[\s\S]*?<\/SignedInfo>)/, '$1$1'),
      'with a reference to the whole document': (xml) =>
        xml.replace(/<Reference URI="[^"]*"/, '<Reference URI=""'),
      'with an external reference': (xml) =>
        xml.replace(/<Reference URI="[^"]*"/, '<Reference URI="http://127.0.0.1:1/"'),
      'with an assertion of another namespace': (xml) =>
        xml.replace('<saml:Assertion', '<x:Assertion xmlns:x="urn:x"/><saml:Assertion'),
      'nested too deeply': (xml) =>
        xml.replace('<samlp:Status>', `<samlp:Status>${'<x>'.repeat(40)}${'</x>'.repeat(40)}`),
      'with too many elements': (xml) =>
        xml.replace('<samlp:Status>', `<samlp:Status>${'<x/>'.repeat(1000)}`),
      'too large': (xml) => xml.replace('<samlp:Status>', `<samlp:Status>${' '.repeat(150_000)}`),
      'cut off': (xml) => xml.slice(0, -20),
      'that is not XML': () => 'hello',
      'that is empty': () => '',
    }

    for (const [title, tamper] of Object.entries(tamperings)) {
      const status = title === OLD_SIGNATURE ? 500 : 403
      assert.equal(await attempt({}, tamper), status, title)
      assert.equal(await attempt({ sign: 'response' }, tamper), status, `${title}, only the response signed`)
      assert.equal(await attempt({ sign: 'both' }, tamper), status, `${title}, both signed`)
    }
  })

  await t.test('an assertion is accepted once, whatever response wraps it', async () => {
    const deliver = async (xml: string) =>
      toOutcome(await post(xml, `${url}/page`, new CookieClient(platform)))
    const signedResponse = forgeResponse({ ...validFields, sign: 'both' })
    const outerSignature = /<Signature\b[\s\S]*?<\/Signature>/.exec(signedResponse)?.[0] ?? ''

    assert.equal(await deliver(signedResponse), 'ada-id')

    assert.equal(await deliver(signedResponse), 403)
    assert.equal(
      await deliver(signedResponse.replace(outerSignature, '')),
      403,
      'without the outer signature',
    )
    assert.equal(
      await deliver(
        signedResponse
          .replace(
            /<samlp:Response xmlns:samlp="[^"]*" Version="2.0" ID="[^"]+"/,
            '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" Version="2.0" ID="_new"',
          )
          .replace(outerSignature, ''),
      ),
      403,
    )
    assert.equal(
      await deliver(forgeResponse({ ...validFields, sign: 'both' })),
      'ada-id',
      'another one is taken',
    )
  })
})

test('group names are compared exactly', async (t) => {
  const samlRoute = await startSamlRoute(t, { authorized_groups: ['admins'] })
  const { platform, url, idp, saml } = samlRoute
  const validFields = { key: idp.key, acs: saml.assertion_consumer_service_url, entityId: saml.entity_id }
  const enter = async (groups: string[]) =>
    toOutcome(
      await samlRoute.post(
        forgeResponse({ ...validFields, groups }),
        `${url}/page`,
        new CookieClient(platform),
      ),
    )

  for (const group of ['Admins', 'admins ', ' admins', 'admins2', 'admin', 'staff,admins', 'admins&#10;', ''])
    assert.equal(await enter([group]), 403, JSON.stringify(group))
  assert.equal(await enter(['staff', 'admins']), 'ada-id')
})

test('only the attributes of the signed assertion say which groups somebody is in', async (t) => {
  const { attempt, initiate } = await start(t, { authorized_groups: ['admins'] })
  const group = (value: string) => samlAttribute('Name="groups"', value)
  const statement = `<saml:AttributeStatement xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${group('admins')}</saml:AttributeStatement>`
  const assertion = `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_second">${statement}</saml:Assertion>`
  const injections: Record<string, (xml: string) => string> = {
    'a statement before the assertion': (xml) =>
      xml.replace('<saml:Assertion', `${statement}<saml:Assertion`),
    'a statement behind the assertion': (xml) =>
      xml.replace('</samlp:Response>', `${statement}</samlp:Response>`),
    'a statement in an extension': (xml) =>
      xml.replace('<samlp:Status>', `<samlp:Extensions>${statement}</samlp:Extensions><samlp:Status>`),
    'a second assertion': (xml) => xml.replace('</samlp:Response>', `${assertion}</samlp:Response>`),
    'a second statement in the assertion': (xml) =>
      xml.replace('</saml:Assertion>', `${statement}</saml:Assertion>`),
    'a second attribute': (xml) =>
      xml.replace('</saml:AttributeStatement>', `${group('admins')}</saml:AttributeStatement>`),
    'a second value': (xml) =>
      xml.replace('</saml:Attribute>', '<saml:AttributeValue>admins</saml:AttributeValue></saml:Attribute>'),
    'a changed value': (xml) => xml.replace('>staff<', '>admins<'),
    'a comment in a value': (xml) => xml.replace('>administrators<', '>admins<!---->istrators<'),
    'a friendly name': (xml) => xml.replace('Name="team"', 'Name="team" FriendlyName="groups"'),
    'another name': (xml) => xml.replace('Name="team"', 'Name="groups"'),
  }
  const attributes = group('staff') + group('administrators') + samlAttribute('Name="team"', 'admins')

  assert.equal(await attempt({ attributes: attributes + group('admins') }), 'ada-id', 'signed')
  for (const [title, inject] of Object.entries(injections))
    for (const sign of ['assertion', 'response', 'both'] as const) {
      assert.equal(await attempt({ attributes, sign }, inject), 403, `${title}, ${sign} signed`)
      assert.equal(
        await initiate({ attributes, sign }, inject),
        403,
        `${title}, ${sign} signed, by the provider`,
      )
    }
  const signedValues = [
    '<x>admins</x>',
    'ad<x/>mins',
    '<saml:NameID>admins</saml:NameID>',
    'admins,staff',
    'admins&#10;',
  ]
  for (const value of signedValues) assert.equal(await attempt({ attributes: group(value) }), 403, value)
})

test('the name of a group adds no header and no other group', async (t) => {
  const { idp, saml, post, platform, url } = await start(t)
  const valid = { key: idp.key, acs: saml.assertion_consumer_service_url, entityId: saml.entity_id }
  const attributes = samlAttribute('Name="groups"', 'x,admins', 'a&#13;&#10;adit-auth-user-id: root', '50%2C')

  const page = await post(forgeResponse({ ...valid, attributes }), `${url}/page`, new CookieClient(platform))

  const headers = JSON.parse(page.text) as Record<string, string>
  assert.equal(headers['adit-auth-user-groups'], 'x%2Cadmins,a%0D%0Aadit-auth-user-id: root,50%252C')
  assert.equal(headers['adit-auth-user-id'], 'ada-id')
})
