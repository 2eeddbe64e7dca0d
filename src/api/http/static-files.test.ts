import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { shareApi } from '../../../test/support/api.ts'

const { fresh } = await shareApi()

const decoders = { br: brotliDecompressSync, gzip: gunzipSync, identity: (body: Buffer) => body }

/** `fetch` would hide the coding. */
async function get(url: string, headers: Record<string, string> = {}) {
  const outgoing = request(url, { headers }).end()
  const [response] = await once(outgoing, 'response')
  const body = await buffer(response)
  const coding = (response.headers['content-encoding'] ?? 'identity') as keyof typeof decoders
  const digest = createHash('sha256').update(decoders[coding](body)).digest('hex')
  return { status: response.statusCode, headers: response.headers, size: body.length, coding, digest }
}

test('pages are sent in the coding that a browser prefers, and are the same in each', async () => {
  const { url } = await fresh()
  for (const path of ['/openapi.json', '/reference']) {
    const plain = await get(`${url}${path}`)
    assert.equal(plain.coding, 'identity')
    for (const [accepted, coding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip', 'gzip'],
      ['deflate', 'identity'],
    ]) {
      const answer = await get(`${url}${path}`, { 'accept-encoding': accepted! })
      assert.equal(answer.coding, coding, `${path} for ${accepted}`)
      assert.equal(answer.digest, plain.digest)
      assert.equal(answer.headers.vary, 'accept-encoding')
      if (coding !== 'identity')
        assert.ok(answer.size < plain.size / 5, `${answer.size} of ${plain.size} bytes`)
    }
  }
})

test('a browser that has a page in one coding is told that it has not changed', async () => {
  const { url } = await fresh()
  const { headers } = await get(`${url}/reference`, { 'accept-encoding': 'br' })

  const again = await get(`${url}/reference`, {
    'accept-encoding': 'gzip',
    'if-none-match': headers.etag!,
  })

  assert.deepEqual([again.status, again.size], [304, 0])
  assert.equal(again.headers.etag, headers.etag)
})

test('every page has the same security headers', async () => {
  const { url } = await fresh()
  const names = ['content-security-policy', 'x-content-type-options', 'x-frame-options', 'referrer-policy']
  const paths = ['/reference', '/reference.css', '/reference.js', '/openapi.json']
  const found = await Promise.all(paths.map((path) => get(`${url}${path}`)))
  for (const { headers } of found)
    assert.deepEqual(
      names.map((name) => headers[name]),
      names.map((name) => found[0]!.headers[name]),
    )
  assert.match(String(found[0]!.headers['content-security-policy']), /^default-src 'none'/)
})
