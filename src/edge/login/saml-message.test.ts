import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  MESSAGE_LIMITS,
  readMessage,
  readPostedMessage,
  requireRoot,
  requireSuccess,
} from './saml-message.ts'

const encoded = (bytes: Buffer) => bytes.toString('base64')
const response = (status: string) => readMessage(`<p:Response xmlns:p="urn:p">${status}</p:Response>`)
const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success'
const RESPONDER = 'urn:oasis:names:tc:SAML:2.0:status:Responder'
const code = (value: string, inner = '') => `<p:StatusCode Value="${value}">${inner}</p:StatusCode>`

test('a message has to be in UTF-8', () => {
  assert.equal(readPostedMessage(encoded(Buffer.from('<a>ä</a>'))).xml, '<a>ä</a>')
  readPostedMessage(encoded(Buffer.from('<?xml version="1.0" encoding="utf-8"?><a/>')))
  assert.throws(() => readPostedMessage(encoded(Buffer.from('<a>ä</a>', 'latin1'))), /UTF-8/)
  assert.throws(
    () => readPostedMessage(encoded(Buffer.from('<?xml version="1.0" encoding="utf-16"?><a/>'))),
    /UTF-8/,
  )
  assert.throws(() => readPostedMessage(encoded(Buffer.from('\ufeff<a>ä</a>', 'utf16le'))))
})

test('only an answer that says Success, once and at its place, succeeds', () => {
  requireSuccess(response(`<p:Status>${code(SUCCESS)}</p:Status>`))
  requireSuccess(response(`<p:Status>${code(SUCCESS, code(RESPONDER))}</p:Status>`))
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
    assert.throws(() => requireSuccess(response(status)), /succeeded/, status)
})

test('the root decides what a message is and whom it is for', () => {
  const message = readMessage('<p:Response Destination="https://a/"/>')

  requireRoot(message, 'Response', 'https://a/')
  requireRoot(readMessage('<Response/>'), 'Response', 'https://a/')
  assert.throws(() => requireRoot(message, 'Response', 'https://b/'), /another receiver/)
  assert.throws(() => requireRoot(message, 'LogoutRequest', 'https://a/'), /no LogoutRequest/)
})

test('parts of signatures, ids, algorithms and prefixes are limited before the library sees them', () => {
  const signature = '<Signature><SignedInfo><Reference/></SignedInfo></Signature>'
  readMessage(`<a>${signature}${signature}</a>`)
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
    assert.throws(() => readMessage(xml), xml)
})

test('no text of the largest size costs 50 ms of CPU', () => {
  const filled = (before: string, unit: string) =>
    before + unit.repeat((MESSAGE_LIMITS.maxBytes - before.length) / unit.length)
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
  const texts = ['', '<a>', '<a ', '<a b="', '<?xml ', '<a></', '<Response Destination="'].flatMap((before) =>
    units.map((unit) => filled(before, unit)),
  )
  texts.push(filled('<?xml', ' encoding'), filled('<a>', '<Response a="" '), filled('<a>', '<b/>'))

  for (const text of texts) {
    const took = Math.min(...Array.from({ length: 3 }, () => cpuOf(text)))
    assert.ok(took < 50, `${text.slice(0, 20)}… took ${took} ms`)
  }
})

function cpuOf(text: string): number {
  const began = process.threadCpuUsage()
  assert.throws(() => readMessage(text))
  const { user, system } = process.threadCpuUsage(began)
  return (user + system) / 1000
}
