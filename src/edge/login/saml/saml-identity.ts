import type { Identity } from '../sign-in.ts'
import { childElements, type Element, elementText, onlyChild } from './saml-elements.ts'

/** The names of the attributes that are read; empty for the usual ones. */
export interface AttributeNames {
  readonly email: string
  readonly name: string
  readonly groups: string
}

const CLAIMS = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims'
const EMAIL = [
  'email',
  'mail',
  'urn:oid:0.9.2342.19200300.100.1.3',
  'urn:oid:1.2.840.113549.1.9.1',
  `${CLAIMS}/emailaddress`,
]
const NAME = [
  'name',
  'displayName',
  'urn:oid:2.16.840.1.113730.3.1.241',
  'cn',
  'urn:oid:2.5.4.3',
  `${CLAIMS}/name`,
]
const GIVEN_NAME = ['givenName', 'urn:oid:2.5.4.42', `${CLAIMS}/givenname`]
const SURNAME = ['surname', 'sn', 'urn:oid:2.5.4.4', `${CLAIMS}/surname`]
const GROUPS = [
  'groups',
  'group',
  'memberOf',
  'member',
  'isMemberOf',
  'urn:oid:1.3.6.1.4.1.5923.1.5.1.1',
  'Role',
  'http://schemas.xmlsoap.org/claims/Group',
  'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups',
]
const USUAL_NAMES = new Set([...EMAIL, ...NAME, ...GIVEN_NAME, ...SURNAME, ...GROUPS])

interface Attribute {
  readonly name: string | undefined
  readonly friendlyName: string | undefined
  readonly values: readonly string[]
}

/** Who a verified assertion is about. Only what is signed may be passed. */
export function readIdentity(assertion: Element, names: AttributeNames): Identity {
  const nameId = onlyChild(onlyChild(assertion, 'Subject'), 'NameID')
  const id = elementText(nameId)
  const format = nameId.$?.Format ?? ''
  const index = childElements(assertion, 'AuthnStatement')[0]?.$?.SessionIndex ?? ''
  const attributes = readAttributes(assertion)
  const values = (setting: string, usual: readonly string[]) => readValues(attributes, setting, usual)
  const [email = format.endsWith(':emailAddress') ? id : ''] = values(names.email, EMAIL)
  const [givenName, surname] = [GIVEN_NAME, SURNAME].map((usual) => values('', usual)[0])
  const fullName = [givenName, surname].filter((part) => part !== undefined).join(' ')
  const [name = names.name === '' ? fullName : ''] = values(names.name, NAME)
  return {
    id,
    name,
    email,
    groups: [...new Set(values(names.groups, GROUPS))],
    claims: {},
    atProvider: { ...(format !== '' && { format }), ...(index !== '' && { index: index.slice(0, 256) }) },
  }
}

/** All of them: a provider may send one for each value. */
function readAttributes(assertion: Element): Attribute[] {
  return childElements(assertion, 'AttributeStatement')
    .flatMap((statement) => childElements(statement, 'Attribute'))
    .map((attribute) => ({
      name: attribute.$?.Name,
      friendlyName: attribute.$?.FriendlyName,
      values: childElements(attribute, 'AttributeValue')
        .filter(isText)
        .map(elementText)
        .filter((text) => text.trim() !== ''),
    }))
}

/** Whether it has text alone; structured values, such as a NameID, name no person and no group. */
function isText(value: Element): boolean {
  return Object.keys(value).every((key) => key === '_' || key === '$')
}

function readValues(attributes: readonly Attribute[], setting: string, usual: readonly string[]): string[] {
  if (setting !== '') return valuesOf(setting, attributes, attributes)
  // An attribute is what its name says, whatever its friendly name is.
  const others = attributes.filter(({ name = '' }) => !USUAL_NAMES.has(name))
  return usual.flatMap((name) => valuesOf(name, attributes, others))
}

/** The values of the attributes with a name; where there are none, of those with it as their friendly name. */
function valuesOf(
  name: string,
  attributes: readonly Attribute[],
  /** Whose friendly names count. */
  others: readonly Attribute[],
): string[] {
  const named = attributes.filter((attribute) => attribute.name === name)
  const found = named.length > 0 ? named : others.filter(({ friendlyName }) => friendlyName === name)
  return found.flatMap(({ values }) => values)
}
