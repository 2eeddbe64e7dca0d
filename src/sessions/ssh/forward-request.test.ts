import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCommand } from './command-line.ts'
import { toForwardRequest } from './forward-request.ts'

const ADDRESS = { domain: 'adit.test', httpPort: 8080, httpsPort: 8443, tcpHost: 'tcp.adit.test' }

const CASES: [bindAddr: string, bindPort: number, command: string, proto: string, opts: object][] = [
  ['localhost', 80, '', 'http', {}],
  ['', 80, '', 'http', {}],
  ['localhost', 8080, '', 'http', {}],
  ['localhost', 443, '', 'https', {}],
  ['localhost', 8443, '', 'https', {}],
  ['localhost', 443, 'http', 'https', {}],
  ['localhost', 80, 'http', 'http', {}],
  ['localhost', 0, 'http', 'https', {}],
  ['shop', 80, '', 'http', { Subdomain: 'shop' }],
  ['shop.example.com', 443, '', 'https', { Domain: 'shop.example.com' }],
  ['shop', 443, 'tls', 'tls', { Subdomain: 'shop' }],
  ['localhost', 443, 'tls --domain a.example.com', 'tls', { Domain: 'a.example.com' }],
  ['shop', 80, 'http --subdomain other', 'http', { Subdomain: 'shop' }],
  ['localhost', 0, '', 'tcp', {}],
  ['localhost', 0, 'tcp 22', 'tcp', {}],
  ['localhost', 20_001, '', 'tcp', { Addr: 'tcp.adit.test:20001' }],
  ['tcp.adit.test', 20_001, '', 'tcp', { Addr: 'tcp.adit.test:20001' }],
  ['localhost', 0, 'tcp --remote-addr tcp.adit.test:20005', 'tcp', { Addr: 'tcp.adit.test:20005' }],
]

for (const [bindAddr, bindPort, command, proto, opts] of CASES)
  test(`-R ${bindAddr}:${bindPort} ${command} requests ${proto} ${JSON.stringify(opts)}`, () => {
    const forward = toForwardRequest({ bindAddr, bindPort }, parseCommand(command), ADDRESS)

    assert.equal(forward.kind, 'bind')
    assert.deepEqual(forward.kind === 'bind' && [forward.request.Proto, forward.request.Opts], [proto, opts])
  })

test('labels request a tunnel without an address', () => {
  const command = parseCommand('http 3000 --label app=shop --metadata m')

  const forward = toForwardRequest({ bindAddr: 'localhost', bindPort: 80 }, command, ADDRESS)

  assert.deepEqual(forward, {
    kind: 'labels',
    request: { Labels: { app: 'shop' }, ForwardsTo: 'localhost:3000', Metadata: 'm' },
  })
})
