import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEncoding, scanXml, type XmlLimits } from './xml-scan.ts'

const LIMITS: XmlLimits = {
  maxBytes: 256 * 1024,
  maxDepth: 32,
  maxElements: 1000,
  maxAttributes: 2000,
  maxAttributesPerElement: 50,
  maxSections: 10,
}

const scan = (xml: string, limits: Partial<XmlLimits> = {}) => scanXml(xml, { ...LIMITS, ...limits })
const nested = (depth: number) => '<a>'.repeat(depth) + '</a>'.repeat(depth)
const attributes = (count: number) => Array.from({ length: count }, (_, index) => ` x${index}=""`).join('')

test('ordinary XML passes, and its elements are returned as written', () => {
  const xml = `\ufeff<?xml version="1.0"?>\n<a x="1" y='&gt;>"'><!-- <b> & --><c:d e = "f"/><![CDATA[<g>&]]>text &#10;</a >\n<!-- -->`

  const elements = scan(xml)

  assert.deepEqual(
    elements.map(({ name, localName, parent, attributes: found }) => [
      name,
      localName,
      parent?.name,
      Object.fromEntries(found),
    ]),
    [
      ['a', 'a', undefined, { x: '1', y: '&gt;>"' }],
      ['c:d', 'd', 'a', { e: 'f' }],
    ],
  )
})

test('each limit holds exactly', () => {
  scan(nested(32))
  assert.throws(() => scan(nested(33)), /deep/)
  scan(`<a>${'<b></b>'.repeat(999)}</a>`)
  assert.throws(() => scan(`<a>${'<b/>'.repeat(1000)}</a>`), /1000 elements/)
  scan(`<a${attributes(50)}/>`)
  assert.throws(() => scan(`<a${attributes(51)}/>`), /attributes/)
  scan(`<a>${`<b${attributes(50)}/>`.repeat(40)}</a>`)
  assert.throws(() => scan(`<a c="">${`<b${attributes(50)}/>`.repeat(40)}</a>`), /attributes/)
  scan(`<a>${' '.repeat(256 * 1024 - 7)}</a>`)
  assert.throws(() => scan(`<a>${' '.repeat(256 * 1024 - 6)}</a>`), /larger/)
  assert.throws(() => scan(`<a>${'ä'.repeat(128 * 1024 - 3)}</a>`), /larger/)
  scan(`<a>${'<!---->'.repeat(10)}</a>`)
  assert.throws(() => scan(`<a>${'<!---->'.repeat(11)}</a>`), /comments/)
  assert.throws(() => scan('<a><!----></a>', { maxSections: 0 }), /a comment/)
  assert.throws(() => scan('<a><![CDATA[]]></a>', { maxSections: 0 }), /a comment/)
})

test('anything but one complete tree is rejected', () => {
  for (const xml of ['<a/><b/>', '<a></a><a></a>']) assert.throws(() => scan(xml), /several roots/, xml)
  for (const xml of [
    '',
    'text',
    '<a',
    '<a>',
    '</a>',
    '<a></b>',
    '<a></ab>',
    '<a></a b="c">',
    '<a></a/>',
    '<a></ a>',
    '<a><b></a></b>',
    '<a b=c/>',
    '<a b="c/>',
    '<a b/>',
    '<a b="1"c="2"/>',
    '<a b="1" b="2"/>',
    '<a b="1" <c/>',
    '<a b="<"/>',
    '<a\u00a0b="c"/>',
    '< a/>',
    '<a><!-- </a>',
    '<a><![CDATA[</a>',
    '<a/>text',
    'text<a/>',
  ])
    assert.throws(() => scan(xml), /well-formed/, xml)
})

test('document types, entities and processing instructions are rejected', () => {
  for (const xml of ['<a>&b;</a>', '<a>&</a>', '<a b="&c;"/>', '<a>&LT;</a>', '<a>&#12345678;</a>'])
    assert.throws(() => scan(xml), /entity/, xml)
  for (const xml of [
    '<!DOCTYPE a><a/>',
    '<!doctype a [<!ENTITY b "c">]><a/>',
    '<a><!ENTITY b "c"></a>',
    '<![CDATA[x]]><a/>',
  ])
    assert.throws(() => scan(xml), /document type/, xml)
  for (const xml of [
    '<?xml-stylesheet?><a/>',
    '<a><?x y?></a>',
    '<a/><?xml version="1.0"?>',
    ' <?xml ?><a/>',
  ])
    assert.throws(() => scan(xml), /processing instruction/, xml)
})

test('the encoding is read from a declaration at the start only', () => {
  assert.equal(readEncoding('<?xml version="1.0" encoding="UTF-16"?><a/>'), 'utf-16')
  assert.equal(readEncoding("\ufeff<?xml version='1.0' encoding = 'x'?><a/>"), 'x')
  assert.equal(readEncoding('<?xml version="1.0"?><a encoding="utf-7"/>'), undefined)
})
