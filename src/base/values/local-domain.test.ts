import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeUnresolved, isLocalDomain, resolvesLocally } from './local-domain.ts'

test('localhost and every name below it are local', () => {
  for (const host of ['localhost', 'adit.localhost', 'a.b.localhost']) assert.equal(isLocalDomain(host), true)
  for (const host of ['localhost.example.com', 'notlocalhost', '127.0.0.1', ''])
    assert.equal(isLocalDomain(host), false)
})

test('a name counts as resolved only when every address is of this machine', async () => {
  for (const [addresses, expected] of [
    [['127.0.0.1'], true],
    [['::1', '127.0.0.1'], true],
    [[], false],
    // A name server that answers every question with the address of its search page.
    [['192.0.2.1'], false],
    [['127.0.0.1', '192.0.2.1'], false],
  ] as const)
    assert.equal(
      await resolvesLocally('app.adit.localhost', async () => addresses.map((address) => ({ address }))),
      expected,
    )
  assert.equal(
    await resolvesLocally('app.adit.localhost', () => Promise.reject(new Error('ENOTFOUND'))),
    false,
  )
})

test('the advice names the hosts file of the platform and the port of the URL', () => {
  const [finding, hosts, curl] = describeUnresolved('http://a.adit.localhost:8080', 'linux')

  assert.match(finding, /does not resolve a\.adit\.localhost\./)
  assert.match(hosts!, /\/etc\/hosts: 127\.0\.0\.1 a\.adit\.localhost$/)
  assert.match(curl!, /--resolve a\.adit\.localhost:8080:127\.0\.0\.1 http:\/\/a\.adit\.localhost:8080$/)
  assert.match(
    describeUnresolved('https://a.localhost', 'win32').join('\n'),
    /drivers\\etc\\hosts[\s\S]*:443:/,
  )
})
