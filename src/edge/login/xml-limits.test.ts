import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readPostedMessage } from './saml-message.ts'
import { readIdpMetadata } from './saml-metadata.ts'
import { requirePlainXml } from './xml-limits.ts'

const nested = (depth: number) => '<a>'.repeat(depth) + '</a>'.repeat(depth)

test('ordinary XML passes, and its attributes are told as written', () => {
  const xml = `<?xml version="1.0"?>\n<a x="1" y='&gt;>"'><!-- <b> --><c:d e = "f"/><![CDATA[<g>]]>text</a>\n`

  assert.deepEqual(requirePlainXml(xml), [
    { name: 'x', value: '1' },
    { name: 'y', value: '&gt;>"' },
    { name: 'e', value: 'f' },
  ])
})

test('depth, number and size are limited, each exactly', () => {
  requirePlainXml(nested(32))
  assert.throws(() => requirePlainXml(nested(33)), /deep/)
  requirePlainXml(`<a>${'<b></b>'.repeat(4999)}</a>`)
  assert.throws(() => requirePlainXml(`<a>${'<b></b>'.repeat(5000)}</a>`), /5000/)
  assert.throws(
    () => requirePlainXml(`<a ${Array.from({ length: 5000 }, (_, at) => `x${at}=""`).join(' ')}/>`),
    /5000/,
  )
  requirePlainXml(`<a>${' '.repeat(256 * 1024 - 7)}</a>`)
  assert.throws(() => requirePlainXml(`<a>${' '.repeat(256 * 1024 - 6)}</a>`), /larger/)
})

test('what is more than one tree, or none, is refused', () => {
  for (const xml of ['<a/><b/>', '<a></a><a></a>'])
    assert.throws(() => requirePlainXml(xml), /several roots/, xml)
  // The last one kept a parser busy for two minutes.
  const hostile = `<a>${'</ '.repeat(80_000)}>`
  for (const xml of [
    hostile,
    '<a></a b="c">',
    '<a',
    '<a b=c/>',
    '<a b="c/>',
    '<a><!-- </a>',
    '<![CDATA[',
    '<? a',
    '<a b="1" <c/>',
  ])
    assert.throws(() => requirePlainXml(xml), /well-formed/, xml)
  for (const xml of ['<a>&b;</a>', '<a>&</a>', '<a b="&c;"/>'])
    assert.throws(() => requirePlainXml(xml), /entity/, xml)
  for (const xml of ['<!DOCTYPE a><a/>', '<!doctype a [<!ENTITY b "c">]><a/>', '<?xml-stylesheet?><a/>'])
    assert.throws(() => requirePlainXml(xml), /document type/, xml)
})

test('a message has to be in UTF-8', () => {
  const encoded = (bytes: Buffer) => bytes.toString('base64')

  assert.equal(readPostedMessage(encoded(Buffer.from('<a>ä</a>'))), '<a>ä</a>')
  readPostedMessage(encoded(Buffer.from('<?xml version="1.0" encoding="utf-8"?><a/>')))
  assert.throws(() => readPostedMessage(encoded(Buffer.from('<a>ä</a>', 'latin1'))), /UTF-8/)
  assert.throws(
    () => readPostedMessage(encoded(Buffer.from('<?xml version="1.0" encoding="utf-16"?><a/>'))),
    /UTF-8/,
  )
  assert.throws(() => readPostedMessage(encoded(Buffer.from('\ufeff<a>ä</a>', 'utf16le'))))
})

test('no text takes long to be refused or read', () => {
  const texts = [
    nested(40_000),
    '<'.repeat(200_000),
    '<a '.repeat(80_000),
    `<a ${' '.repeat(200_000)}`,
    `<a ${'b'.repeat(200_000)}`,
    `<a ${'b="'.repeat(60_000)}`,
    `<a b="${'<'.repeat(200_000)}`,
    '<!--'.repeat(60_000),
    '<![CDATA['.repeat(25_000),
    '<?'.repeat(100_000),
    '</'.repeat(100_000),
    `<?xml ${' encoding'.repeat(25_000)}`,
    `<a>${'<Response '.repeat(20_000)}`,
    `<a>${'&x;'.repeat(80_000)}</a>`,
    `<!DOCTYPE a [${'<!ENTITY b "&c;&c;">'.repeat(10_000)}]><a/>`,
  ]
  for (const text of texts) {
    const took = Math.min(...Array.from({ length: 3 }, () => timeOf(text)))
    assert.ok(took < 50, `${text.slice(0, 12)}… took ${took} ms`)
  }
})

function timeOf(text: string): number {
  // What this process works, not what others do meanwhile.
  const began = process.cpuUsage()
  for (const read of [requirePlainXml, readIdpMetadata, (xml: string) => readPostedMessage(btoa(xml))])
    try {
      read(text)
    } catch {
      // Only the time matters.
    }
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1000
}
