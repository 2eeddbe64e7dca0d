import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { compile } from '../../cel/index.ts'
import { createAuthority, loadAuthority } from '../../certs/index.ts'
import { readExtensions } from './certificate-extensions.ts'
import { environments } from './index.ts'

const root = await createAuthority({ commonName: 'test root' })
const authority = await loadAuthority(root)
const leaf = await authority.issueLeaf({ names: ['app.example.com'] })

const extensionsOf = (pem: string) => readExtensions(new X509Certificate(pem))

test('the extensions of a certificate are read with their identifier, criticality and value', () => {
  const [constraints] = extensionsOf(root.certificatePem).filter(({ id }) => id === '2.5.29.19')
  const [alternatives] = extensionsOf(leaf.certificatePem).filter(({ id }) => id === '2.5.29.17')

  assert.equal(constraints?.critical, true)
  // SEQUENCE { BOOLEAN TRUE … }
  assert.match(Buffer.from(constraints.value).toString('hex'), /^30..0101ff/)
  assert.equal(alternatives?.critical, false)
  assert.ok(Buffer.from(alternatives.value).includes('app.example.com'))
})

test('expressions find an extension by its identifier', () => {
  const clientCertificate = new X509Certificate(leaf.certificatePem)
  const evaluate = (source: string) => {
    const compilation = compile(source, environments.on_http_request)
    assert.ok(compilation.ok)
    return compilation.program.evaluate({ conn: { tls: { clientCertificate } } })
  }

  assert.equal(evaluate("conn.tls.client.extensions.exists(e, e.id == '2.5.29.17' && !e.critical)"), true)
  assert.equal(evaluate("conn.tls.client.extensions.exists(e, e.id == '1.2.3')"), false)
  assert.equal(evaluate('conn.tls.client.extensions[0].value.size() > 0'), true)
})

/** A DER element of less than 64 KiB. */
function encodeElement(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag, 0x82, content.length >> 8, content.length & 0xff]), content])
}

/** What a certificate would be with one extension of this identifier. */
function withObjectId(objectId: Buffer): Buffer {
  const extension = encodeElement(0x30, encodeElement(0x06, objectId))
  return [0x30, 0xa3, 0x30, 0x30].reduce((content, tag) => encodeElement(tag, content), extension)
}

test('an object identifier of any length is read in bounded time', () => {
  const read = (length: number) =>
    readExtensions({
      raw: withObjectId(Buffer.alloc(length, 0x81).fill(0x01, length - 1)),
    } as X509Certificate)

  assert.equal(read(128).length, 1)
  assert.deepEqual(read(129), [])
})

test('a certificate whose encoding cannot be followed has no extensions', () => {
  const { raw } = new X509Certificate(leaf.certificatePem)
  const samples = [
    Buffer.alloc(0),
    raw.subarray(0, 100),
    Buffer.from('30820fff', 'hex'),
    Buffer.alloc(64, 0x30),
  ]
  for (const bytes of samples)
    assert.deepEqual(readExtensions({ raw: bytes } as X509Certificate), [], bytes.toString('hex'))
})
