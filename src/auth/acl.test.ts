import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../test/support/random.ts'
import { parseAclRule } from '../resources/index.ts'
import { compileAcl } from './acl.ts'

type Row = [acl: string[], host: string, allowed: boolean]

const names: Row[] = [
  [[], 'app.ex.com', true],
  [[], '*.ex.com', true],
  [['*'], 'app.ex.com', true],
  [['bind:*'], 'app.ex.com', true],
  [['bind:app.ex.com'], 'app.ex.com', true],
  [['bind:app.ex.com'], 'APP.ex.com', true],
  [['bind:APP.Ex.com'], 'app.ex.com', true],
  [['bind:app.ex.com'], 'app.ex.com.', true],
  [['bind:app.ex.com.'], 'app.ex.com', true],
  [['bind:app.ex.com'], 'app.ex.com..', false],
  [['bind:app.ex.com'], 'aapp.ex.com', false],
  [['bind:app.ex.com'], 'b.app.ex.com', false],
  [['bind:app.ex.com'], 'ex.com', false],
  [['bind:app.ex.com'], '*.ex.com', false],
  [['bind:ex.com'], 'app.ex.com', false],
  [['bind:*.ex.com'], 'app.ex.com', true],
  [['bind:*.ex.com'], 'b.app.ex.com', true],
  [['bind:*.ex.com'], 'c.b.app.ex.com', true],
  [['bind:*.ex.com'], '*.ex.com', true],
  [['bind:*.ex.com'], '*.app.ex.com', true],
  [['bind:*.ex.com'], 'ex.com', false],
  [['bind:*.ex.com'], 'aex.com', false],
  [['bind:*.ex.com'], 'a-ex.com', false],
  [['bind:*.ex.com'], '*.com', false],
  [['bind:*.ex.com'], 'app.ex.com.evil.com', false],
  [['bind:*.ex.com'], 'app.ex.comm', false],
  [['bind:*.ex.com'], '.ex.com', false],
  [['bind:*.ex.com'], 'a..ex.com', false],
  [['bind:*.ex.com'], 'a.*.ex.com', false],
  [['bind:*.ex.com'], 'a*.ex.com', false],
  [['bind:*.ex.com'], '', false],
  [['bind:*.ex.com'], 'app.ex.com:443', false],
  [['bind:*.ex.com'], 'app.ex.com/', false],
  [['bind:*.ex.com'], 'app_.ex.com', false],
  [['bind:*.ex.com'], 'x@app.ex.com', false],
  [['bind:xn--bcher-kva.ex.com'], 'XN--BCHER-KVA.ex.com', true],
  [['bind:*.ex.com'], 'bücher.ex.com', false],
  [['bind:a.ex.com', 'bind:b.ex.com'], 'b.ex.com', true],
  [['bind:a.ex.com', 'bind:b.ex.com'], 'c.ex.com', false],
  [['bind:a.ex.com', '*'], 'c.ex.com', true],
  [['bind:app.ex.com:443'], 'app.ex.com', false],
  [['bind:app=web'], 'app.ex.com', false],
  [['bind:*=*'], 'app.ex.com', false],
  [['nonsense'], 'app.ex.com', false],
  [['bind:'], 'app.ex.com', false],
  [['listen:app.ex.com'], 'app.ex.com', false],
  [['bind:a.*.com'], 'a.b.com', false],
  [['bind:**.ex.com'], 'a.ex.com', false],
  [['nonsense', 'bind:app.ex.com'], 'app.ex.com', true],
  [[''], 'app.ex.com', false],
]

for (const [acl, host, allowed] of names) {
  test(`${JSON.stringify(acl)} ${allowed ? 'allows' : 'rejects'} the name "${host}"`, () => {
    assert.equal(compileAcl(acl).allowsName(host), allowed)
  })
}

const addresses: [acl: string[], host: string, port: number, allowed: boolean][] = [
  [[], 't.ex.com', 20_000, true],
  [[], 'not a host', 20_000, false],
  [['*'], 't.ex.com', 20_000, true],
  [['bind:*'], 't.ex.com', 20_000, true],
  [['bind:t.ex.com:20000'], 't.ex.com', 20_000, true],
  [['bind:T.ex.com:20000'], 't.ex.com', 20_000, true],
  [['bind:t.ex.com:20000'], 't.ex.com', 20_001, false],
  [['bind:t.ex.com:20000'], 't.ex.com', 2000, false],
  [['bind:t.ex.com:20000'], 'u.ex.com', 20_000, false],
  [['bind:127.0.0.1:20000'], '127.0.0.1', 20_000, true],
  [['bind:127.0.0.1:20000'], '127.0.0.2', 20_000, false],
  [['bind:t.ex.com'], 't.ex.com', 20_000, false],
  [['bind:*.ex.com'], 't.ex.com', 20_000, false],
  [['bind:t.ex.com:0'], 't.ex.com', 0, false],
  [['bind:t.ex.com:99999'], 't.ex.com', 99_999, false],
  [['bind:a=b'], 't.ex.com', 20_000, false],
]

for (const [acl, host, port, allowed] of addresses) {
  test(`${JSON.stringify(acl)} ${allowed ? 'allows' : 'rejects'} the address ${host}:${port}`, () => {
    assert.equal(compileAcl(acl).allowsAddress(host, port), allowed)
  })
}

const labels: [acl: string[], key: string, value: string, allowed: boolean][] = [
  [[], 'app', 'web', true],
  [['*'], 'app', 'web', true],
  [['bind:*'], 'app', 'web', true],
  [['bind:app=web'], 'app', 'web', true],
  [['bind:app=web'], 'app', 'api', false],
  [['bind:app=web'], 'App', 'web', false],
  [['bind:app=web'], 'app', 'web2', false],
  [['bind:*=web'], 'app', 'web', true],
  [['bind:*=web'], 'other', 'web', true],
  [['bind:*=web'], 'app', 'api', false],
  [['bind:app=*'], 'app', 'anything', true],
  [['bind:app=*'], 'apps', 'anything', false],
  [['bind:*=*'], 'a', 'b', true],
  [['bind:a=b=c'], 'a', 'b=c', true],
  [['bind:=web'], '', 'web', false],
  [['bind:app.ex.com'], 'app', 'web', false],
]

for (const [acl, key, value, allowed] of labels) {
  test(`${JSON.stringify(acl)} ${allowed ? 'allows' : 'rejects'} the label ${key}=${value}`, () => {
    assert.equal(compileAcl(acl).allowsLabel(key, value), allowed)
  })
}

const random: [acl: string[], allowed: boolean][] = [
  [[], true],
  [['*'], true],
  [['bind:*'], true],
  [['bind:t.ex.com:20000'], false],
  [['bind:*.ex.com'], false],
  [['broken'], false],
]

for (const [acl, allowed] of random) {
  test(`${JSON.stringify(acl)} ${allowed ? 'allows' : 'rejects'} a TCP address of the server's choice`, () => {
    assert.equal(compileAcl(acl).allowsAnyAddress(), allowed)
  })
}

const malformed = [
  '',
  'bind',
  'bind:',
  'app.ex.com',
  'bind app.ex.com',
  'bind:a..b',
  'bind:*.',
  'bind:.ex.com',
  'bind:a.*.com',
  'bind:a*.com',
  'bind:**',
  'bind:-a.com',
  'bind:a.com:',
  'bind:a.com:0',
  'bind:a.com:65536',
  'bind:a.com:x',
  'bind:=',
  'bind:a=',
  'bind:=b',
  'bind:[::1]:80',
  'bind:a b.com',
  'connect:*',
]

for (const rule of malformed) {
  test(`"${rule}" is not a rule, so the API can reject it and it allows no bind`, () => {
    assert.throws(() => parseAclRule(rule), Error)
    assert.equal(compileAcl([rule]).allowsName('app.ex.com'), false)
  })
}

test('a wildcard allows exactly the names that end with its suffix after a dot, over 20,000 random ones', (t) => {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const acl = compileAcl(['bind:*.ex.com'])
  const parts = ['a', 'b', 'ex', 'com', 'xex', 'ex-com', '*', 'A', 'EX', 'Com']

  for (let round = 0; round < 20_000; round++) {
    const host = Array.from({ length: 1 + random.below(5) }, () => random.pick(parts)).join('.')
    const name = host.toLowerCase().split('.')
    const wellFormed = !name.slice(1).includes('*') && name.length > (name[0] === '*' ? 1 : 0)
    const expected = wellFormed && name.length > 2 && name.at(-2) === 'ex' && name.at(-1) === 'com'

    assert.equal(acl.allowsName(host), expected, host)
  }
})
