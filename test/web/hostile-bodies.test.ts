import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatJson, formatXml } from '../../src/web/inspector/message/pretty.ts'

const MIB = 1024 * 1024

/** Bodies for which quadratic time, were formatting not bounded, would be longer than a test run. */
const BODIES: Record<string, string> = {
  'JSON nested half a million deep': '['.repeat(MIB / 2) + ']'.repeat(MIB / 2),
  'JSON with much in deep places': `${'['.repeat(2000)}${'1,'.repeat(MIB / 2)}1${']'.repeat(2000)}`,
  'one long string': JSON.stringify('\\"'.repeat(MIB / 4)),
  'XML nested deep': '<a>'.repeat(MIB / 3),
  'comments that never end': '<!--'.repeat(MIB / 4),
  'sections that never end': '<![CDATA['.repeat(MIB / 9),
  'tags that never end': '<'.repeat(MIB),
}

for (const [name, body] of Object.entries(BODIES)) {
  test(`formatting ends: ${name}`, () => {
    formatJson(body)
    formatXml(body)
  })
}

test('formatting does not change the content', () => {
  const json = '{"a":[1,{"b":null}],"a":"two \\" quotes","c":{},"d":1e400}'

  const pretty = formatJson(json)

  assert.ok('tokens' in pretty)
  const text = pretty.tokens.map((token) => token.text).join('')
  assert.equal(text.replace(/\n */g, '').replaceAll('": ', '":'), json)
})
