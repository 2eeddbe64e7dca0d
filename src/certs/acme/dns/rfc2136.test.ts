import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startBind } from '../../../../test/support/dns-providers/bind.ts'
import { startTcp } from '../../../../test/support/local-server.ts'
import { createOutbound } from '../../../base/outbound/outbound.ts'
import type { DnsProvider } from './provider.ts'
import { rfc2136 } from './rfc2136.ts'
import { signMessage, verifyResponse } from './tsig.ts'

const NAME = '_acme-challenge.example.com'
const ZONE = { id: 'example.com', name: 'example.com' }

/** Opens the provider for a server, with other variables where given. */
function open(
  t: TestContext,
  variables: Readonly<Record<string, string>>,
  overrides: { keyName?: string; algorithm?: string; nameserver?: string } = {},
): DnsProvider {
  const outbound = createOutbound()
  t.after(() => outbound.close())
  const values = {
    nameserver: variables.RFC2136_NAMESERVER!,
    keyName: variables.RFC2136_TSIG_KEY!,
    secret: variables.RFC2136_TSIG_SECRET!,
    algorithm: 'hmac-sha256',
    ...overrides,
  }
  return rfc2136.open(values, { outbound, signal: new AbortController().signal })
}

test('BIND rejects a wrong key, algorithm, right or zone, and the error says which', async (t) => {
  const bind = await startBind(t, { zones: ['example.com'] })
  const provider = open(t, bind.variables)
  const foreign = { id: 'example.org', name: 'example.org' }
  const cases: [Promise<unknown>, RegExp][] = [
    [
      open(t, bind.variables, { keyName: 'stranger' }).addTxt(ZONE, NAME, ['v']),
      /the key stranger: .*BADKEY/,
    ],
    [open(t, bind.variables, { algorithm: 'hmac-sha512' }).addTxt(ZONE, NAME, ['v']), /BADKEY|BADSIG/],
    [
      open(t, bind.variables, { keyName: 'reader-key' }).addTxt(ZONE, NAME, ['v']),
      /the key may not change this name; see allow-update or update-policy of the zone \(REFUSED\)/,
    ],
    [
      provider.addTxt(foreign, '_acme-challenge.example.org', ['v']),
      /it is not authoritative for the zone \(NOTAUTH\)/,
    ],
    [provider.addTxt(ZONE, '_acme-challenge.example.org', ['v']), /the name is not in the zone \(NOTZONE\)/],
  ]

  for (const [call, message] of cases) await assert.rejects(call, { name: 'DnsProviderError', message })

  assert.deepEqual(await bind.values(NAME), [])
})

test('a response that the server has not signed is not believed', async (t) => {
  // Answers every message with "no error", unsigned.
  const port = await startTcp(t, (socket) =>
    socket.once('data', (data: Buffer) => {
      const header = Buffer.from(data.subarray(0, 14))
      header.writeUInt16BE(12, 0)
      header.writeUInt16BE(0x8000 | header.readUInt16BE(4), 4)
      header.fill(0, 6)
      socket.end(header)
    }),
  )
  const secret = Buffer.from('secret').toString('base64')
  const provider = open(t, {
    RFC2136_NAMESERVER: `127.0.0.1:${port}`,
    RFC2136_TSIG_KEY: 'key',
    RFC2136_TSIG_SECRET: secret,
  })

  await assert.rejects(provider.addTxt(ZONE, NAME, ['v']), /the response is not signed/)
})

test('a garbled response is an error, not a crash', async (t) => {
  const port = await startTcp(t, (socket) =>
    socket.once('data', () => socket.end(Buffer.from([0, 13, ...Array(13).fill(255)]))),
  )
  const provider = open(t, {
    RFC2136_NAMESERVER: `127.0.0.1:${port}`,
    RFC2136_TSIG_KEY: 'key',
    RFC2136_TSIG_SECRET: 'AAAA',
  })

  await assert.rejects(provider.findZone(NAME), { name: 'DnsProviderError' })
})

test('a signature covers the message, the request and the time', () => {
  const key = { name: 'key', algorithm: 'hmac-sha256', secret: Buffer.from('secret') } as const
  const now = Date.now()
  const message = Buffer.alloc(12)
  const { bytes } = signMessage(message, key, now)

  // A response is signed over the MAC of its request, so a signed request is not a valid response.
  assert.throws(() => verifyResponse(bytes, key, Buffer.alloc(0), now), /signature of the response is wrong/)
  assert.throws(() => verifyResponse(message, key, Buffer.alloc(0), now), /not signed/)
})
