import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureThreadCpu } from '../../../../test/support/thread-cpu.ts'
import {
  MESSAGE_LIMITS,
  parseMessage,
  parsePostedMessage,
  requireRoot,
  requireSuccess,
} from './saml-message.ts'

const encode = (bytes: Buffer) => bytes.toString('base64')
const createResponse = (status: string) => parseMessage(`<p:Response xmlns:p="urn:p">${status}</p:Response>`)
const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success'
const RESPONDER = 'urn:oasis:names:tc:SAML:2.0:status:Responder'
const code = (value: string, inner = '') => `<p:StatusCode Value="${value}">${inner}</p:StatusCode>`

test('a message must be UTF-8', () => {
  assert.equal(parsePostedMessage(encode(Buffer.from('<a>ä</a>'))).xml, '<a>ä</a>')
  parsePostedMessage(encode(Buffer.from('<?xml version="1.0" encoding="utf-8"?><a/>')))
  assert.throws(() => parsePostedMessage(encode(Buffer.from('<a>ä</a>', 'latin1'))), /UTF-8/)
  assert.throws(
    () => parsePostedMessage(encode(Buffer.from('<?xml version="1.0" encoding="utf-16"?><a/>'))),
    /UTF-8/,
  )
  assert.throws(() => parsePostedMessage(encode(Buffer.from('\ufeff<a>ä</a>', 'utf16le'))))
})

test('a response succeeds only with a single Success status in its proper position', () => {
  requireSuccess(createResponse(`<p:Status>${code(SUCCESS)}</p:Status>`))
  requireSuccess(createResponse(`<p:Status>${code(SUCCESS, code(RESPONDER))}</p:Status>`))
  for (const status of [
    '',
    '<p:Status/>',
    `<p:Status>${code(RESPONDER)}</p:Status>`,
    `<p:Status>${code(RESPONDER, code(SUCCESS))}</p:Status>`,
    `<p:Status>${code(SUCCESS)}${code(RESPONDER)}</p:Status>`,
    `<p:Status>${code(SUCCESS)}</p:Status><p:Status>${code(RESPONDER)}</p:Status>`,
    `<p:Extensions><p:Status>${code(SUCCESS)}</p:Status></p:Extensions>`,
    `<p:Status><p:StatusCode/></p:Status>`,
    code(SUCCESS),
    `<p:Status>${code(`${SUCCESS} `)}</p:Status>`,
  ])
    assert.throws(() => requireSuccess(createResponse(status)), /status/, status)
})

test('the root element determines message type and recipient', () => {
  const message = parseMessage('<p:Response Destination="https://a/"/>')

  requireRoot(message, 'Response', 'https://a/')
  requireRoot(parseMessage('<Response/>'), 'Response', 'https://a/')
  assert.throws(() => requireRoot(message, 'Response', 'https://b/'), /another receiver/)
  assert.throws(() => requireRoot(message, 'LogoutRequest', 'https://a/'), /no LogoutRequest/)
})

test('signature parts, ids, algorithms and prefixes are limited before the library parses a message', () => {
  const signature = '<Signature><SignedInfo><Reference/></SignedInfo></Signature>'
  parseMessage(`<a>${signature}${signature}</a>`)
  for (const xml of [
    `<a>${signature.repeat(3)}</a>`,
    `<a>${'<Reference/>'.repeat(3)}</a>`,
    `<a>${'<x:Transform xmlns:x="urn:x"/>'.repeat(5)}</a>`,
    `<a>${'<DigestValue/>'.repeat(3)}</a>`,
    '<a><ds:Object/></a>',
    '<a><Assertion/><x:Assertion/></a>',
    '<a><EncryptedAssertion/></a>',
    '<a ID="x"><b Id="x"/></a>',
    '<a ID="x"><b y:id="x"/></a>',
    '<a ID="&#120;"/>',
    '<a Algorithm="http://www.w3.org/2000/09/xmldsig#rsa-sha1"/>',
    `<a PrefixList="${'x '.repeat(513)}"/>`,
  ])
    assert.throws(() => parseMessage(xml), xml)
})

test('rejecting any message of maximum size costs less than 50 ms of CPU', async () => {
  const fill = (prefix: string, unit: string) =>
    prefix + unit.repeat((MESSAGE_LIMITS.maxBytes - prefix.length) / unit.length)
  const units = [
    '<a>',
    '<',
    '<a ',
    '<a b="',
    '<!--',
    '<![CDATA[',
    '<?',
    '</',
    '</ ',
    '&x;',
    '&',
    ' ',
    'b',
    ' b=""',
  ]
  const texts = ['', '<a>', '<a ', '<a b="', '<?xml ', '<a></', '<Response Destination="'].flatMap((prefix) =>
    units.map((unit) => fill(prefix, unit)),
  )
  texts.push(fill('<?xml', ' encoding'), fill('<a>', '<Response a="" '), fill('<a>', '<b/>'))

  for (const text of texts) {
    const cost = await measureThreadCpu(() => assert.throws(() => parseMessage(text)))
    assert.ok(cost < 50, `${text.slice(0, 20)}… cost ${cost} ms`)
  }
})
