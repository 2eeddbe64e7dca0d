import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proxyProtocolHeader } from './proxy-protocol.ts'

const SIGNATURE = '0d0a0d0a000d0a515549540a'

const rows: [client: string, server: string, v1: string, v2: string][] = [
  [
    '192.0.2.1:5000',
    '198.51.100.2:443',
    'PROXY TCP4 192.0.2.1 198.51.100.2 5000 443\r\n',
    `${SIGNATURE}2111000cc0000201c6336402138801bb`,
  ],
  [
    '[2001:db8::1]:5000',
    '[2001:db8:0:1::2]:443',
    'PROXY TCP6 2001:db8::1 2001:db8:0:1::2 5000 443\r\n',
    `${SIGNATURE}2121002420010db800000000000000000000000120010db8000000010000000000000002138801bb`,
  ],
  [
    '[::ffff:192.0.2.1]:1',
    '127.0.0.1:2',
    'PROXY TCP4 192.0.2.1 127.0.0.1 1 2\r\n',
    `${SIGNATURE}2111000cc00002017f00000100010002`,
  ],
  [
    '[::1]:1',
    '192.0.2.1:2',
    'PROXY TCP6 ::1 ::ffff:192.0.2.1 1 2\r\n',
    `${SIGNATURE}212100240000000000000000000000000000000100000000000000000000ffffc000020100010002`,
  ],
  [
    '[fe80::1%eth0]:1',
    '[::]:65535',
    'PROXY TCP6 fe80::1 :: 1 65535\r\n',
    `${SIGNATURE}21210024fe800000000000000000000000000001000000000000000000000000000000000001ffff`,
  ],
  ['nonsense', '192.0.2.1:2', 'PROXY UNKNOWN\r\n', `${SIGNATURE}21000000`],
  ['192.0.2.1:99999', '192.0.2.1:2', 'PROXY UNKNOWN\r\n', `${SIGNATURE}21000000`],
]

for (const [client, server, v1, v2] of rows) {
  test(`${client} to ${server} is written in both versions`, () => {
    assert.equal(proxyProtocolHeader(1, client, server).toString(), v1)
    assert.equal(proxyProtocolHeader(2, client, server).toString('hex'), v2)
  })
}
