import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PlatformAddresses } from './addresses.ts'
import { readSettings } from './settings/settings.ts'

/** What people are told when the listeners are bound to these addresses. */
function publicAddresses(flags: readonly string[], agent: string, ssh: string | null = null) {
  const addresses = new PlatformAddresses(readSettings(flags, {}))
  addresses.agent = agent
  addresses.ssh = ssh
  return [addresses.publicAgent, addresses.publicSsh]
}

test('agents and SSH clients are told a name of the domain, whatever address the listeners are bound to', () => {
  const domain = ['--domain', 'tunnels.example.com']

  assert.deepEqual(publicAddresses(domain, '0.0.0.0:4443', '0.0.0.0:2222'), [
    'connect.tunnels.example.com:4443',
    'tunnels.example.com:2222',
  ])
  assert.deepEqual(publicAddresses(domain, '[::]:443'), ['connect.tunnels.example.com:443', null])
})

test("the operator's address for agents is told when it is a name, of an IP address only the port", () => {
  const flags = (address: string) => ['--domain', 'tunnels.example.com', '--agent-public-addr', address]
  const told = (address: string) => publicAddresses(flags(address), '127.0.0.1:4444')[0]

  assert.equal(told('agents.example.com:443'), 'agents.example.com:443')
  assert.equal(told('203.0.113.10:4443'), 'connect.tunnels.example.com:4443')
  assert.equal(told('[2001:db8::1]:4443'), 'connect.tunnels.example.com:4443')
  assert.equal(told('false'), 'connect.tunnels.example.com:4444')
})

test('on a local domain the bound address is told, of a wildcard this machine', () => {
  assert.deepEqual(publicAddresses([], '127.0.0.1:4443', '[::]:2222'), ['127.0.0.1:4443', 'localhost:2222'])
})
