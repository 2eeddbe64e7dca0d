import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom, mutate, rounds } from '../../../test/support/random.ts'
import { InvalidCommand, parseCommand, sanitize } from './command-line.ts'

const SEEDS = [
  'http 3000 --domain a.example.com --basic-auth "user:password" --output=json',
  "tls --name 'a b' --label a=b --label c=d=e --metadata '{\"x\":1}'",
  'tcp 192.168.0.2:22 --remote-addr 1.tcp.example.com:2000 --inspect=false --description x\\ y',
].map((line) => Buffer.from(line))

test('20,000 mutated command lines are parsed or rejected with a message that is safe to display', (t) => {
  const random = createRandom()
  t.diagnostic(`SEED=${random.seed}`)
  let understood = 0
  for (const _ of rounds(20_000)) {
    const line = mutate(random, random.pick(SEEDS)).toString(random.below(2) === 0 ? 'utf8' : 'latin1')
    try {
      parseCommand(line)
      understood += 1
    } catch (error) {
      assert.ok(error instanceof InvalidCommand, `${JSON.stringify(line)}: ${(error as Error).stack}`)
      assert.ok(error.message.length > 0)
    }
    assert.doesNotMatch(sanitize(line), /[\u0000-\u001f\u007f-\u009f]/)
  }
  assert.ok(understood > 500, `only ${understood} were understood`)
})
