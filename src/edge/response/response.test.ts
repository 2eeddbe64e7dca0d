import assert from 'node:assert/strict'
import { test } from 'node:test'
import { edgeErrorKinds } from '../error-kinds.ts'
import { edgeError } from '../errors.ts'
import { renderError } from './response.ts'

test('every error has a code of its own and an error status', () => {
  const codes = Object.values(edgeErrorKinds).map(({ code }) => code)

  assert.equal(new Set(codes).size, codes.length)
  for (const [name, { status }] of Object.entries(edgeErrorKinds)) {
    assert.ok(status >= 400 && status < 600, name)
  }
})

test('an error page escapes hostile text and can load or run nothing', () => {
  const evil = '"><script>alert(1)</script><img src=//evil.example>\r\nSet-Cookie: a=b'
  const { fields, body } = renderError(edgeError('upstream_broken', evil, evil), 'text/html')
  const html = body.toString()

  assert.ok(!/<script|<img|<link|<iframe/i.test(html))
  assert.ok(html.includes('&lt;script&gt;'))
  assert.match(
    fields,
    /Content-Security-Policy: default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'/,
  )
  assert.match(fields, /X-Content-Type-Options: nosniff/)
  assert.ok(!fields.includes('evil.example') && !fields.includes('Set-Cookie'))
})

test('the code of an error page links to its explanation where there is one', () => {
  const error = edgeError('endpoint_not_found', 'a.example')
  const linked = renderError(error, 'text/html', {
    host: 'a.example',
    pagesUrl: 'https://api.example.com/docs/errors',
    findPage: () => undefined,
  }).body.toString()
  const plain = renderError(error, 'text/html').body.toString()

  assert.match(
    linked,
    /<a href="https:\/\/api\.example\.com\/docs\/errors\/ERR_ADIT_3200">ERR_ADIT_3200<\/a>/,
  )
  assert.match(plain, /<code>ERR_ADIT_3200<\/code>/)
})

test('an error is JSON for programs and plain text for other clients', () => {
  const error = edgeError('no_backend', 'a.example')

  assert.deepEqual(JSON.parse(renderError(error, 'application/json, */*').body.toString()), {
    error_code: 'ERR_ADIT_6528',
    status_code: 503,
    msg: 'No backend of a.example is online.',
    details: {},
  })
  for (const accept of ['', '*/*', 'image/png']) {
    const { fields, body } = renderError(error, accept)
    assert.match(fields, /Content-Type: text\/plain/)
    assert.equal(body.toString(), 'No backend of a.example is online.\nERR_ADIT_6528\n')
  }
})

test('errors that are worth a retry carry Retry-After', () => {
  for (const name of ['too_busy', 'no_backend', 'breaker_open', 'login_busy', 'too_many_logins'] as const) {
    assert.match(renderError(edgeError(name, 'a.example'), '').fields, /Retry-After: \d+\r\n/)
  }
})
