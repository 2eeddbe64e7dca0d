import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, mutate, rounds } from '../../../../test/support/random.ts'
import { MESSAGE_LIMITS, parsePostedMessage } from './saml-message.ts'
import { parseIdpMetadata } from './saml-metadata.ts'

const RESPONSE = Buffer.from(`<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"
  xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_r" Version="2.0" Destination="https://a.example/">
  <saml:Issuer>https://idp.example</saml:Issuer>
  <samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>
  <saml:Assertion ID="_a"><saml:Subject><saml:NameID>ada@example.com</saml:NameID></saml:Subject>
  <saml:AttributeStatement><saml:Attribute Name="groups"><saml:AttributeValue>staff</saml:AttributeValue>
  </saml:Attribute></saml:AttributeStatement></saml:Assertion></samlp:Response>`)

const METADATA =
  Buffer.from(`<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example">
  <md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
  <md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/sso"/>
  </md:IDPSSODescriptor></md:EntityDescriptor>`)

test('10,000 damaged SAML messages are accepted or rejected with a reason', (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  let accepted = 0
  for (const _ of rounds(10_000)) {
    const bytes = mutate(random, RESPONSE)
    try {
      parsePostedMessage(random.below(8) === 0 ? bytes.toString('latin1') : bytes.toString('base64'))
      accepted += 1
    } catch (error) {
      assert.ok(error instanceof Error && error.message.length > 0)
      assert.ok(!(error instanceof TypeError || error instanceof RangeError), String(error.stack))
    }
  }
  assert.ok(accepted > 20, `only ${accepted} were accepted`)
})

test('10,000 damaged identity provider metadata documents are accepted or rejected with a reason', (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  for (const _ of rounds(10_000)) {
    try {
      parseIdpMetadata(mutate(random, METADATA).toString('utf8'), MESSAGE_LIMITS)
    } catch (error) {
      assert.ok(error instanceof Error && error.message.length > 0)
      assert.ok(!(error instanceof TypeError || error instanceof RangeError), String(error.stack))
    }
  }
})
