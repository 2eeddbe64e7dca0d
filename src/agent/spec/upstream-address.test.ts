import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AddressError, parseUpstream } from './upstream-address.ts'

type Kind = Parameters<typeof parseUpstream>[1]

const VALID: [address: string, kind: Kind, shown: string, tls: boolean][] = [
  ['3000', 'http', 'http://localhost:3000', false],
  ['443', 'http', 'https://localhost:443', true],
  ['app.internal:8080', 'http', 'http://app.internal:8080', false],
  ['app.internal', 'http', 'http://app.internal:80', false],
  ['https://app.internal', 'http', 'https://app.internal:443', true],
  ['https://localhost:8443/', 'http', 'https://localhost:8443', true],
  ['http://localhost:443', 'http', 'http://localhost:443', false],
  ['[::1]:3000', 'http', 'http://[::1]:3000', false],
  ['22', 'tcp', 'localhost:22', false],
  ['10.0.0.1:22', 'tcp', '10.0.0.1:22', false],
  ['tls://db:5432', 'tcp', 'tls://db:5432', true],
  ['443', 'tls', 'tls://localhost:443', false],
  ['80', 'tls', 'localhost:80', false],
  ['file:///usr', 'http', 'file:///usr', false],
  ['my_app:80', 'http', 'http://my_app:80', false],
  ['bücher.example:80', 'http', 'http://bücher.example:80', false],
  ['unix:/run/app.sock', 'http', 'unix:/run/app.sock', false],
]

for (const [address, kind, shown, tls] of VALID) {
  test(`${kind} ${address} parses as ${shown}`, () => {
    const upstream = parseUpstream(address, kind)

    assert.equal(upstream.text, shown)
    assert.equal(upstream.tls, tls)
  })
}

test('a rewritten Host omits the default port of its scheme', () => {
  assert.equal(parseUpstream('http://app:80', 'http').authority, 'app')
  assert.equal(parseUpstream('https://app', 'http').authority, 'app')
  assert.equal(parseUpstream('3000', 'http').authority, 'localhost:3000')
})

const INVALID: [address: string, kind: Kind, message: RegExp][] = [
  ['', 'http', /empty/],
  ['0', 'http', /1 to 65535/],
  ['70000', 'tcp', /1 to 65535/],
  ['ftp://host:21', 'http', /scheme ftp/],
  ['http://host/path', 'http', /without path/],
  ['user@host:22', 'tcp', /user name/],
  ['host', 'tcp', /needs a port/],
  ['::1', 'http', /\[ipv6\]:port/],
  ['file://relative/dir', 'http', /absolute directory/],
  ['file:///x', 'tcp', /only be served over http/],
  ['unix:app.sock', 'http', /absolute socket path/],
  ['file:///usr/no/such/directory', 'http', /no directory/],
  ['file:///etc/hostname', 'http', /no directory/],
  ['-1', 'http', /does not name a host/],
  ['80.5', 'http', /does not name a host/],
  ['fo!o$', 'http', /does not name a host/],
  ['1.2.3:80', 'tcp', /does not name a host/],
]

for (const [address, kind, message] of INVALID) {
  test(`${kind} "${address}" is rejected`, () => {
    assert.throws(
      () => parseUpstream(address, kind),
      (error) => error instanceof AddressError && message.test(error.message),
    )
  })
}
