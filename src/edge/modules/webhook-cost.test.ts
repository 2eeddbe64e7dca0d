import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { measureThreadCpu } from '../../../test/support/thread-cpu.ts'
import type { Exchange } from '../contracts/exchange.ts'
import { EdgeError } from '../errors.ts'
import { WebhookMessage } from './webhook-message.ts'
import { webhookSchemes } from './webhook-schemes.ts'

const MIB = 1024 * 1024
const MAX_MS = 50
const SECRET = Buffer.from('a secret of some length').toString('base64')

/** A message with every field a scheme asks for: an attacker can send them all. */
function createMessage(type: string, body: Buffer): WebhookMessage {
  const getAll = (name: string): string[] => {
    if (name === 'content-type') return [type]
    if (name === 'content-encoding') return body[0] === 0x1f ? ['gzip'] : []
    if (/time/.test(name)) return [String(Math.floor(Date.now() / 1000))]
    return ['t=1,v1=00,sha256=00']
  }
  return new WebhookMessage(
    {
      head: { method: 'POST', target: '/hook', authority: 'shop.example' },
      connection: { scheme: 'https' },
      fields: { getAll },
    } as unknown as Exchange,
    body,
  )
}

const distinctTexts = (count: number) =>
  Array.from({ length: count }, (_, index) => ((index * 7919) % 1_000_003).toString(36))

const bodies: Record<string, readonly [type: string, body: Buffer]> = {
  'a form of many parameters': [
    'application/x-www-form-urlencoded',
    Buffer.from(distinctTexts(MIB / 8).join('&')),
  ],
  'a form of empty parameters': ['application/x-www-form-urlencoded', Buffer.alloc(MIB, '&')],
  'an object of many keys': [
    'application/json',
    Buffer.from(JSON.stringify(Object.fromEntries(distinctTexts(MIB / 16).map((key) => [key, 1])))),
  ],
  'a list of many objects': ['application/json', Buffer.from(`[${'{},'.repeat(MIB / 3 - 2)}{}]`)],
  'lists in lists': ['application/json', Buffer.alloc(MIB, '[')],
  'a text of escapes': ['application/json', Buffer.from(`"${'\\u0061'.repeat(MIB / 6 - 2)}"`)],
  blanks: ['application/json', Buffer.from(`{"a"${' '.repeat(MIB - 10)}:1}`)],
  'compressed nothing': ['application/json', gzipSync(Buffer.alloc(64 * MIB))],
}

test('rejecting a forged webhook of any provider costs less than 50 ms of CPU', async () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  for (const [provider, scheme] of Object.entries(webhookSchemes)) {
    const check = scheme(provider === 'sendgrid' ? spki : SECRET, {
      signingKeys: () => Promise.reject(new Error('no key')),
    })
    for (const [name, [type, body]] of Object.entries(bodies)) {
      const cost = await measureThreadCpu(async () =>
        assert.notEqual(await readFault(() => check(createMessage(type, body), Date.now())), undefined),
      )
      assert.ok(cost < MAX_MS, `${provider}: ${name} cost ${cost} ms`)
    }
  }
})

async function readFault(
  check: () => string | undefined | Promise<string | undefined>,
): Promise<string | undefined> {
  try {
    return await check()
  } catch (error) {
    if (error instanceof EdgeError) return error.text
    throw error
  }
}
