import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode, rawField } from './decode.ts'
import { AuthRequest, BindRequest, LabelRequest } from './messages.ts'

test('the token is decoded under both spellings of the SDKs', () => {
  const rust = decode(AuthRequest, { Version: ['3'], ClientId: '', Extra: { AuthToken: 't' } })
  const go = decode(AuthRequest, { version: ['3'], clientid: '', extra: { authtoken: 't' } })

  assert.equal(rust.Extra?.Authtoken, 't')
  assert.deepEqual(go, rust)
})

test('null counts as absent and unknown fields are dropped', () => {
  const bind = decode(BindRequest, {
    Proto: 'http',
    Opts: { Domain: 'a.b', Compression: null, OAuth: null, LocalURLScheme: null },
    Extra: { Bindings: null, IPPolicyRef: '' },
  })

  assert.deepEqual(bind, { Proto: 'http', Opts: { Domain: 'a.b' }, Extra: {} })
})

test('names inside the options keep their own case rules', () => {
  const { Opts } = decode(BindRequest, {
    Proto: 'http',
    Opts: {
      BasicAuth: { credentials: [{ username: 'u', cleartext_password: 'p' }] },
      IPRestriction: { allow_cidrs: [] },
    },
  })

  assert.deepEqual(Opts?.BasicAuth?.credentials, [{ username: 'u', cleartext_password: 'p' }])
  assert.deepEqual(Opts?.IPRestriction, { allow_cidrs: [] })
})

test('label names are data and keep their case', () => {
  const { Labels } = decode(LabelRequest, { labels: { Edge: 'A', edge: 'b' } })

  assert.deepEqual(Labels, { Edge: 'A', edge: 'b' })
  for (const labels of [{ 'a\0': 'b' }, { a: '\0' }])
    assert.throws(() => decode(LabelRequest, { Labels: labels }), /holds U\+0000/)
})

const invalid: [message: unknown, pattern: RegExp][] = [
  [{}, /Proto/],
  [{ Proto: 7 }, /Proto must be string/],
  [{ Proto: 'http', Opts: 'x' }, /Opts must be object/],
  [{ Proto: 'http', Opts: { ProxyProto: 3 } }, /Opts\.ProxyProto/],
  [{ Proto: 'http', Opts: { OAuth: {} } }, /Opts\.OAuth.*provider/],
  [{ Proto: 'http', Extra: { Bindings: [1] } }, /Extra\.Bindings\.0/],
  [{ Proto: 'http', Extra: { Metadata: 'a\0b' } }, /Extra\.Metadata holds U\+0000/],
  [{ Proto: 'http', Opts: { RequestHeaders: { add: ['a:b', 'c:\0'] } } }, /RequestHeaders\.add\[1\] holds U/],
]

for (const [message, pattern] of invalid) {
  test(`${JSON.stringify(message)} is rejected with the name of the field`, () => {
    assert.throws(() => decode(BindRequest, message), { message: pattern, number: 301 })
  })
}

test('a message cannot reach a prototype', () => {
  const message = JSON.parse(
    '{"Proto":"http","__proto__":{"polluted":1},"Opts":{"__proto__":{"polluted":1}}}',
  )

  const bind = decode(BindRequest, message) as { polluted?: number; Opts?: { polluted?: number } }

  assert.equal(bind.polluted, undefined)
  assert.equal(bind.Opts?.polluted, undefined)
})

test('a raw field is returned unchanged', () => {
  const opts = { LocalUrlScheme: null, Unknown: [1] }

  assert.equal(rawField({ opts }, 'Opts'), opts)
  assert.equal(rawField({}, 'Opts'), undefined)
})
