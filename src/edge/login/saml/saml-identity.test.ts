import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseXml2JsFromString } from '@node-saml/node-saml/lib/xml.js'
import { samlAttribute } from '../../../../test/login/saml-forge.ts'
import { type AttributeNames, readIdentity } from './saml-identity.ts'

const USUAL: AttributeNames = { email: '', name: '', groups: '' }

/** Reads an assertion with these attributes. */
async function read(
  attributes: string[],
  names: Partial<AttributeNames> = {},
  nameId = '<saml:NameID>ada</saml:NameID>',
) {
  const xml = `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"><saml:Subject>${nameId}</saml:Subject>
    <saml:AttributeStatement>${attributes.join('')}</saml:AttributeStatement></saml:Assertion>`
  const { Assertion: assertion } = (await parseXml2JsFromString(xml)) as { Assertion: object }
  return readIdentity(assertion as Parameters<typeof readIdentity>[0], { ...USUAL, ...names })
}

const named = (name: string, ...values: string[]) => samlAttribute(`Name="${name}"`, ...values)

test('groups are collected from all attributes, each once', async () => {
  const repeated = ['staff', 'editors', 'staff'].map((group) => named('groups', group))

  assert.deepEqual((await read(repeated)).groups, ['staff', 'editors'])
  const mixed = [named('Role', 'viewer'), named('groups', 'staff', 'viewer'), named('member', 'board')]
  assert.deepEqual((await read(mixed)).groups, ['staff', 'viewer', 'board'])
})

test('attributes of several statements count', async () => {
  const statements = [
    named('groups', 'staff'),
    '</saml:AttributeStatement><saml:AttributeStatement>',
    named('groups', 'editors'),
  ]

  assert.deepEqual((await read(statements)).groups, ['staff', 'editors'])
})

test('the usual attributes are known by their OIDs', async () => {
  const { email, name, groups } = await read([
    named('urn:oid:1.2.840.113549.1.9.1', 'ada@example.com'),
    named('urn:oid:2.5.4.42', 'Ada'),
    named('urn:oid:2.5.4.4', 'Lovelace'),
    named('urn:oid:1.3.6.1.4.1.5923.1.5.1.1', 'staff'),
  ])

  assert.deepEqual([email, name, groups], ['ada@example.com', 'Ada Lovelace', ['staff']])
  assert.equal(
    (await read([named('urn:oid:0.9.2342.19200300.100.1.3', 'ada@example.org')])).email,
    'ada@example.org',
  )
})

test('a display name wins over given name and surname, of which one is enough', async () => {
  const parts = [named('givenName', 'Ada'), named('sn', 'Lovelace')]

  assert.equal(
    (await read([...parts, named('urn:oid:2.16.840.1.113730.3.1.241', 'A. Lovelace')])).name,
    'A. Lovelace',
  )
  assert.equal((await read(parts.slice(1))).name, 'Lovelace')
  assert.equal((await read([])).name, '')
})

test('a friendly name counts where no attribute has that name, and the attribute no usual one', async () => {
  const befriended = (name: string, friendlyName: string, value: string) =>
    samlAttribute(`Name="${name}" FriendlyName="${friendlyName}"`, value)

  assert.deepEqual((await read([befriended('urn:x:1', 'groups', 'staff')])).groups, ['staff'])
  assert.deepEqual(
    (await read([befriended('urn:x:1', 'groups', 'admins'), named('groups', 'staff')])).groups,
    ['staff'],
  )
  assert.deepEqual((await read([befriended('mail', 'groups', 'ada@example.com')])).groups, [])
  const isMemberOf = befriended('urn:oid:1.3.6.1.4.1.5923.1.5.1.1', 'isMemberOf', 'staff')
  assert.deepEqual((await read([isMemberOf])).groups, ['staff'])
})

test('a setting names the only attribute that is read, by its name or else its friendly name', async () => {
  const attributes = [
    named('groups', 'admins'),
    named('urn:x:teams', 'blue'),
    named('urn:x:teams', 'green'),
    samlAttribute('Name="urn:x:1" FriendlyName="title"', 'Countess'),
    named('givenName', 'Ada'),
    named('email', 'ada@example.com'),
  ]

  const { groups, name, email } = await read(attributes, {
    groups: 'urn:x:teams',
    name: 'title',
    email: 'urn:x:mail',
  })

  assert.deepEqual([groups, name, email], [['blue', 'green'], 'Countess', ''])
  assert.equal((await read(attributes, { name: 'urn:x:none' })).name, '')
})

test('a NameID that is an address is the address of a person who has no other', async () => {
  const nameId =
    '<saml:NameID Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress">ada@example.com</saml:NameID>'

  assert.equal((await read([], {}, nameId)).email, 'ada@example.com')
  assert.equal((await read([named('mail', 'ada@example.org')], {}, nameId)).email, 'ada@example.org')
  assert.equal((await read([])).email, '')
})

test('values that are empty or not text are no groups, and unusual names are harmless', async () => {
  const groups = named(
    'groups',
    '',
    ' ',
    'staff',
    '<saml:NameID>admins</saml:NameID>',
    'ad<x/>mins',
    '&lt;a&gt;,b',
  )

  assert.deepEqual((await read([groups])).groups, ['staff', '<a>,b'])
  const names = ['__proto__', 'constructor', 'nameID', 'nameIDFormat', 'sessionIndex']
  const { id, atProvider } = await read(names.map((name) => named(name, 'x')))
  assert.deepEqual([id, atProvider], ['ada', {}])
})
