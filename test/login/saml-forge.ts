import { randomBytes } from 'node:crypto'
import { signXml } from '@node-saml/node-saml/lib/xml.js'

/** The fields of a forged response; null omits a field. Times are in seconds from now. */
export interface ForgedResponse {
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
  /** The content of the AttributeStatement, in place of the groups. */
  attributes?: string
  /** The content of the Status element. */
  status?: string
}

const attribute = (name: string, value: string | null) => (value === null ? '' : ` ${name}="${value}"`)
const isoTime = (seconds: number | null) =>
  seconds === null ? null : new Date(Date.now() + seconds * 1000).toISOString()

/** Formats a status code with nested ones, the outermost first. */
export const statusCode = (name: string, ...inner: string[]): string =>
  `<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${name}">${inner.length === 0 ? '' : statusCode(...(inner as [string]))}</samlp:StatusCode>`

/** Formats an attribute with these values, which may be XML. */
export const samlAttribute = (names: string, ...values: string[]): string =>
  `<saml:Attribute ${names}>${values.map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`).join('')}</saml:Attribute>`

/** Builds the response of an identity provider by hand, so that each of its parts can be wrong. */
export function forgeResponse(fields: ForgedResponse): string {
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
    attributes = samlAttribute('Name="groups"', ...groups),
    status = statusCode('Success'),
  } = fields
  const name = nameId === null ? '' : `<saml:NameID>${nameId}</saml:NameID>`
  const restriction =
    audience === null
      ? ''
      : `<saml:AudienceRestriction><saml:Audience>${audience}</saml:Audience></saml:AudienceRestriction>`
  const confirmation =
    `<saml:SubjectConfirmation Method="${method}"><saml:SubjectConfirmationData${attribute('Recipient', recipient)}` +
    `${attribute('NotBefore', isoTime(confirmedFrom))}${attribute('NotOnOrAfter', isoTime(confirmedUntil))}${attribute('InResponseTo', subjectRequestId)}/></saml:SubjectConfirmation>`
  const assertion =
    `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" Version="2.0" ID="${assertionId}"${attribute('IssueInstant', isoTime(issued))}>` +
    `<saml:Issuer>${issuer}</saml:Issuer><saml:Subject>${name}${confirmation}</saml:Subject>` +
    `<saml:Conditions${attribute('NotBefore', isoTime(notBefore))}${attribute('NotOnOrAfter', isoTime(notOnOrAfter))}>${restriction}</saml:Conditions>` +
    `<saml:AttributeStatement>${attributes}</saml:AttributeStatement></saml:Assertion>`
  const response =
    `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" Version="2.0" ID="_${randomBytes(16).toString('hex')}"` +
    `${attribute('IssueInstant', isoTime(0))}${attribute('Destination', destination)}${attribute('InResponseTo', requestId)}>` +
    `<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${issuer}</saml:Issuer>` +
    `<samlp:Status>${status}</samlp:Status>${assertion}</samlp:Response>`
  const signing = {
    privateKey: key,
    signatureAlgorithm: fields.signatureAlgorithm ?? 'sha256',
    digestAlgorithm: fields.digestAlgorithm ?? 'sha256',
    ...(fields.transforms && { xmlSignatureTransforms: fields.transforms }),
  } as const
  const signElement = (xml: string, element: string) =>
    signXml(
      xml,
      `//*[local-name(.)='${element}']`,
      { reference: `//*[local-name(.)='${element}']/*[local-name(.)='Issuer']`, action: 'after' },
      signing,
    )
  const inner = sign === 'assertion' || sign === 'both' ? signElement(response, 'Assertion') : response
  return sign === 'response' || sign === 'both' ? signElement(inner, 'Response') : inner
}

const extractElement = (xml: string, name: string) =>
  new RegExp(`<((?:\\w+:)?${name})\\b[\\s\\S]*</\\1>`).exec(xml)?.[0] ?? ''
const firstSignature = (xml: string) => /<Signature\b[\s\S]*?<\/Signature>/.exec(xml)?.[0] ?? ''
const tamperName = (xml: string) => xml.replace('>ada-id<', '>root<')
const replaceId = (xml: string) => xml.replace(/ ID="[^"]+"/, ' ID="_evil"')
const stripSignature = (xml: string) => xml.replace(firstSignature(xml), '')

/** Signature wrapping attacks, numbered as in SAML Raider. */
export const wrappings: Record<string, (xml: string) => string> = {
  'XSW1: a changed response around the signed one, inside its signature': (xml) => {
    const signature = firstSignature(xml)
    const evil = replaceId(tamperName(xml))
    return evil.replace(
      signature,
      signature.replace('</Signature>', `<Object>${stripSignature(xml)}</Object></Signature>`),
    )
  },
  'XSW2: the signed response before its signature in a changed one': (xml) => {
    const signature = firstSignature(xml)
    return replaceId(tamperName(xml)).replace(signature, stripSignature(xml) + signature)
  },
  'XSW3: a changed assertion before the signed one': (xml) => {
    const assertion = extractElement(xml, 'Assertion')
    return xml.replace(assertion, replaceId(tamperName(stripSignature(assertion))) + assertion)
  },
  'XSW4: the signed assertion inside a changed one': (xml) => {
    const assertion = extractElement(xml, 'Assertion')
    const evil = replaceId(tamperName(stripSignature(assertion)))
    return xml.replace(assertion, evil.replace('</saml:Assertion>', `${assertion}</saml:Assertion>`))
  },
  'XSW5: a changed assertion with the signature, the signed one behind': (xml) => {
    const assertion = extractElement(xml, 'Assertion')
    return xml.replace(assertion, replaceId(tamperName(assertion)) + stripSignature(assertion))
  },
  'XSW6: the signed assertion inside its signature in a changed one': (xml) => {
    const assertion = extractElement(xml, 'Assertion')
    const signature = firstSignature(assertion)
    const wrappingSignature = signature.replace('</Signature>', `${stripSignature(assertion)}</Signature>`)
    return xml.replace(assertion, replaceId(tamperName(assertion)).replace(signature, wrappingSignature))
  },
  'XSW7: a changed assertion in an extension': (xml) => {
    const assertion = extractElement(xml, 'Assertion')
    const evil = tamperName(stripSignature(assertion))
    return xml.replace(assertion, `<samlp:Extensions>${evil}</samlp:Extensions>${assertion}`)
  },
  'XSW8: the signed assertion as an object of the signature of a changed one': (xml) => {
    const assertion = extractElement(xml, 'Assertion')
    const signature = firstSignature(assertion)
    const wrappingSignature = signature.replace(
      '</Signature>',
      `<Object>${stripSignature(assertion)}</Object></Signature>`,
    )
    return xml.replace(assertion, tamperName(assertion).replace(signature, wrappingSignature))
  },
}
