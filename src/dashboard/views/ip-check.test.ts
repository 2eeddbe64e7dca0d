import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IpRule } from '../../base/values/ip-rules.ts'
import { evaluateRules } from './ip-check.ts'

const office: IpRule = { cidr: '198.51.100.0/24', action: 'allow' }
const printer: IpRule = { cidr: '198.51.100.7/32', action: 'deny' }
const everyV6: IpRule = { cidr: '::/0', action: 'allow' }

const cases: [string, IpRule[], string, boolean, RegExp][] = [
  ['an allowed address', [office, printer], '198.51.100.8', true, /198\.51\.100\.0\/24 allows it/],
  ['a deny inside an allowed range', [office, printer], '198.51.100.7', false, /198\.51\.100\.7\/32 denies/],
  ['an address without a rule', [office], '203.0.113.1', false, /No rule allows it/],
  ['an IPv4 address and a rule for all of IPv6', [everyV6], '203.0.113.1', false, /No rule allows it/],
  ['an IPv6 address', [everyV6], '2001:db8::1', true, /::\/0 allows it/],
  ['a policy without rules', [], '203.0.113.1', false, /There are no rules yet/],
]

for (const [name, rules, address, allowed, because] of cases)
  test(`the verdict on ${name} names the rule that decides`, () => {
    const verdict = evaluateRules(rules, address)

    assert.equal(verdict.allowed, allowed)
    assert.match(verdict.because, because)
  })
