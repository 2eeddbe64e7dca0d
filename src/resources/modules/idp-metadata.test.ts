import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureThreadCpu } from '../../../test/support/thread-cpu.ts'
import { metadataError } from './idp-metadata.ts'

const NAMESPACE = 'urn:oasis:names:tc:SAML:2.0:metadata'

test('metadata of identity providers is accepted, even if incomplete', () => {
  for (const xml of [
    '<EntityDescriptor entityID="https://idp.example.com"/>',
    `\ufeff<?xml version="1.0"?>\n<!-- made by hand -->\n<EntityDescriptor xmlns="${NAMESPACE}" entityID='a>b'></EntityDescriptor>\n`,
    `<md:EntityDescriptor xmlns:md="${NAMESPACE}"><md:IDPSSODescriptor>&amp;&#10;<![CDATA[</x>]]></md:IDPSSODescriptor></md:EntityDescriptor>`,
    `<EntitiesDescriptor\n  xmlns = "${NAMESPACE}"\n><EntityDescriptor/><EntityDescriptor ></EntityDescriptor ></EntitiesDescriptor>`,
  ])
    assert.equal(metadataError(xml), undefined, xml)
})

test('text that cannot be metadata is rejected with the reason', () => {
  for (const [xml, reason] of [
    ['hello', /well-formed/],
    ['   ', /well-formed/],
    ['<EntityDescriptor>', /well-formed/],
    ['<EntityDescriptor></Other>', /well-formed/],
    ['<EntityDescriptor><a></EntityDescriptor></a>', /well-formed/],
    ['<EntityDescriptor entityID=x/>', /well-formed/],
    ['<EntityDescriptor/>text', /well-formed/],
    ['<EntityDescriptor><!-- </EntityDescriptor>', /well-formed/],
    ['</EntityDescriptor>', /well-formed/],
    ['<EntityDescriptor/><EntityDescriptor/>', /several roots/],
    ['<EntityDescriptor>&other;</EntityDescriptor>', /entity/],
    ['<!DOCTYPE x><EntityDescriptor/>', /document type/],
    ['<html><EntityDescriptor/></html>', /its root is html/],
    ['<EntityDescriptor xmlns="urn:other"/>', /its root is EntityDescriptor/],
    ['{"issuer":"https://idp.example.com"}', /well-formed/],
  ] as const)
    assert.match(metadataError(xml) ?? 'accepted', reason, xml)
})

test('every text is scanned in linear time', async () => {
  const size = 262_144
  const repeated = (text: string) => text.repeat(size / text.length)
  for (const xml of [
    ...['<', '<a>', '<!--', '<![CDATA[', '<?', '</', '</ ', '<a b="', '<a', '&', '<a/>', ' ', '<a></a>'].map(
      repeated,
    ),
    `<a>${repeated('<??>')}`,
    `<a${repeated(' b="c"')}`,
    `<a ${repeated('b')}`,
    `<${repeated('a')}`,
    `<a${repeated(' ')}`,
  ]) {
    const cost = await measureThreadCpu(() => metadataError(xml))
    assert.ok(cost < 1000, `${xml.slice(0, 20)}… cost ${cost} ms`)
  }
})
