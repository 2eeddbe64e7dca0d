import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countSteps } from '../../../test/support/count-steps.ts'
import { createRandom } from '../../../test/support/random.ts'
import { compileRules, type IpRule, plainAddress } from './ip-rules.ts'

test('an invalid rule is an error, not an open door', () => {
  const broken = [
    '10.0.0.1/8',
    '2001:db8::1/32',
    '::ffff:0:0/95',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/08',
    '10.0.0.0/ 8',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '010.0.0.0/8',
    '10.0.0/24',
    '0x0a.0.0.0/8',
    'fe80::%eth0/64',
    '10.0.0.0/8/8',
    'example.com/8',
    '',
  ]
  for (const cidr of broken) assert.throws(() => compileRules([{ cidr, action: 'deny' }]), Error, cidr)
})

test('the widest and the narrowest ranges match exactly their addresses', () => {
  const admits = (cidr: string, address: string) => compileRules([{ cidr, action: 'allow' }])(address)

  assert.equal(admits('0.0.0.0/0', '255.255.255.255'), true)
  assert.equal(admits('0.0.0.0/0', '::1'), false)
  assert.equal(admits('255.255.255.255/32', '255.255.255.255'), true)
  assert.equal(admits('255.255.255.255/32', '255.255.255.254'), false)
  assert.equal(admits('::/0', 'ffff:ffff::1'), true)
  assert.equal(admits('::/0', '10.0.0.1'), false)
  assert.equal(admits('::1/128', '::1'), true)
  assert.equal(admits('::ffff:0:0/96', '10.0.0.1'), true)
  assert.equal(admits('2001:DB8::/32', '2001:db8::9'), true)
})

test('an IPv4-mapped address is the IPv4 address', () => {
  const admits = compileRules([{ cidr: '10.0.0.0/8', action: 'allow' }])
  const mapped = compileRules([{ cidr: '::ffff:10.0.0.0/104', action: 'allow' }])

  assert.equal(admits('::ffff:10.1.2.3'), true)
  assert.equal(admits('::FFFF:0a01:0203'), true)
  assert.equal(mapped('10.1.2.3'), true)
  assert.equal(mapped('11.1.2.3'), false)
})

for (const [address, expected] of [
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['::FFFF:198.51.100.254', '198.51.100.254'],
  ['::1', '::1'],
  ['::ffff:a01:203', '::ffff:a01:203'],
  ['::5:ffff:10.1.2.3', '::5:ffff:10.1.2.3'],
  ['::5::ffff:10.1.2.3', '::5::ffff:10.1.2.3'],
  ['::ffff:10.1.2.3%eth0', '::ffff:10.1.2.3%eth0'],
  ['10.1.2.3', '10.1.2.3'],
] as const) {
  test(`the plain form of ${address} is ${expected}`, () => {
    assert.equal(plainAddress(address), expected)
  })
}

test('a rule for one address at either end of an allowed range denies that address alone', () => {
  const admits = compileRules([
    { cidr: '10.0.0.0/24', action: 'allow' },
    { cidr: '10.0.0.0/32', action: 'deny' },
    { cidr: '10.0.0.255/32', action: 'deny' },
  ])

  assert.deepEqual(['10.0.0.0', '10.0.0.1', '10.0.0.254', '10.0.0.255'].map(admits), [
    false,
    true,
    true,
    false,
  ])
})

test('decisions stay the same when more addresses come back than are cached', () => {
  const admits = compileRules([{ cidr: '10.0.0.0/17', action: 'allow' }])
  for (let round = 0; round < 2; round++)
    for (let n = 0; n < 10_000; n++)
      assert.equal(admits(`10.0.${n >> 8}.${n & 255}`) && !admits(`10.0.${128 + (n >> 8)}.${n & 255}`), true)
})

test('a deny wins in any position, and an address without a match is denied', () => {
  const rules: IpRule[] = [
    { cidr: '10.0.0.0/8', action: 'allow' },
    { cidr: '10.1.0.0/16', action: 'deny' },
    { cidr: '10.1.2.0/24', action: 'allow' },
  ]
  for (const order of [rules, [...rules].reverse()]) {
    const admits = compileRules(order)

    assert.equal(admits('10.0.0.1'), true)
    assert.equal(admits('10.1.2.3'), false)
    assert.equal(admits('10.2.0.0'), true)
    assert.equal(admits('11.0.0.0'), false)
  }
  assert.equal(compileRules([])('127.0.0.1'), false)
})

test('what is not an address is denied even when everything is allowed', () => {
  const admits = compileRules([
    { cidr: '::/0', action: 'allow' },
    { cidr: '0.0.0.0/0', action: 'allow' },
  ])

  for (const address of ['', 'example.com', '10.0.0.256', 'fe80::1%lo', '1.2.3']) {
    assert.equal(admits(address), false, address)
  }
  assert.equal(admits('10.0.0.1'), true)
})

/** Bit by bit, straight from the definition. */
function oracle(rules: readonly IpRule[], address: string): boolean {
  const bits = bitsOf(address)
  const matches = ({ cidr }: IpRule) => {
    const [network, mask] = cidr.split('/') as [string, string]
    if (network.includes(':') !== address.includes(':')) return false
    const length = network.includes(':') ? Number(mask) : Number(mask) + 96
    const range = bitsOf(network)
    for (let bit = 0; bit < length; bit++) if (range[bit] !== bits[bit]) return false
    return true
  }
  return (
    rules.some((rule) => rule.action === 'allow' && matches(rule)) &&
    !rules.some((rule) => rule.action === 'deny' && matches(rule))
  )
}

function bitsOf(address: string): string {
  const words: number[] = []
  if (address.includes(':')) for (const word of address.split(':')) words.push(Number.parseInt(word, 16))
  else {
    const [a, b, c, d] = address.split('.').map(Number) as [number, number, number, number]
    words.push(0, 0, 0, 0, 0, 0xffff, a * 256 + b, c * 256 + d)
  }
  return words.map((word) => word.toString(2).padStart(16, '0')).join('')
}

test('100,000 random cases agree with a bit-by-bit oracle', () => {
  const { seed, below: random } = createRandom()
  console.log(`seed ${seed}`)
  // Few distinct bits, so that ranges nest, touch and overlap often.
  const v4 = () => [10, random(2), random(4) * 64, random(256)]
  const v6 = () => [0x2001, 0xdb8, random(2), 0, 0, 0, random(4) * 0x4000, random(0x10000)]
  const network = (): string => {
    if (random(2) === 0) {
      const bits = random(33)
      let value = v4().reduce((sum, byte) => sum * 256 + byte, 0)
      value = bits === 0 ? 0 : (value & (-1 << (32 - bits))) >>> 0
      return `${[24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.')}/${bits}`
    }
    const bits = random(129)
    const words = v6().map((word, index) => {
      const keep = Math.max(0, Math.min(16, bits - index * 16))
      return word & (0xffff << (16 - keep)) & 0xffff
    })
    return `${words.map((word) => word.toString(16)).join(':')}/${bits}`
  }
  for (let round = 0; round < 1000; round++) {
    const rules: IpRule[] = Array.from({ length: random(8) }, () => ({
      cidr: network(),
      action: random(3) === 0 ? 'deny' : 'allow',
    }))
    const admits = compileRules(rules)
    for (let n = 0; n < 100; n++) {
      const address =
        random(2) === 0
          ? v4().join('.')
          : v6()
              .map((word) => word.toString(16))
              .join(':')

      assert.equal(admits(address), oracle(rules, address), `${address} with ${JSON.stringify(rules)}`)
    }
  }
})

test('the steps of a check grow with the logarithm of the number of rules', async () => {
  const count = (rules: number) =>
    countSteps(import.meta.resolve('./ip-rules.ts'), (module: typeof import('./ip-rules.ts')) => {
      const admits = module.compileRules(
        Array.from({ length: rules }, (_, n) => ({ cidr: `10.${n >> 8}.${n & 255}.0/25`, action: 'allow' })),
      )
      return () => admits('10.7.31.127')
    })

  const few = await count(10)

  assert.ok(few > 0)
  assert.ok((await count(10_000)) < few * 10, 'a thousand times the rules takes ten halvings more')
})
