import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Revocations } from './revocations.ts'

const DISTANT_FUTURE = 1_000_000

test('a revocation covers sessions that started before it, not later ones', () => {
  const revocations = new Revocations()

  revocations.add({ scopeId: 'scope', subject: 'ada', latestStart: 50_500, expiresAt: DISTANT_FUTURE }, 0)

  assert.deepEqual(
    [49, 50, 51].map((since) => revocations.isRevoked('scope', 'ada', since)),
    [true, true, false],
  )
  assert.equal(revocations.isRevoked('scope', 'bob', 1), false)
  assert.equal(revocations.isRevoked('other', 'ada', 1), false)
})

test('an older revocation that arrives later reverts nothing', () => {
  const revocations = new Revocations()

  revocations.add({ scopeId: 'scope', subject: 'ada', latestStart: 50_000, expiresAt: DISTANT_FUTURE }, 0)
  revocations.add({ scopeId: 'scope', subject: 'ada', latestStart: 20_000, expiresAt: 60_000 }, 0)
  revocations.sweep(70_000)

  assert.equal(revocations.isRevoked('scope', 'ada', 50), true)
})

test('expired revocations are dropped', () => {
  const revocations = new Revocations()

  revocations.add({ scopeId: 'scope', subject: 'a', latestStart: 1_000, expiresAt: 5_000 }, 0)
  revocations.add({ scopeId: 'scope', subject: 'b', latestStart: 1_000, expiresAt: 5_000 }, 5_000)
  assert.equal(revocations.size, 1)
  revocations.sweep(5_000)

  assert.equal(revocations.size, 0)
})

test('the table stays bounded and never forgets a sign-out', () => {
  const revocations = new Revocations(100)
  revocations.add({ scopeId: 'small', subject: 'ada', latestStart: 1_000, expiresAt: DISTANT_FUTURE }, 0)

  for (let n = 1; n <= 1_000; n++) {
    revocations.add(
      { scopeId: 'busy', subject: `s${n}`, latestStart: n * 1000, expiresAt: DISTANT_FUTURE },
      0,
    )
    assert.ok(revocations.size <= 100)
  }

  for (let n = 1; n <= 1_000; n++) assert.equal(revocations.isRevoked('busy', `s${n}`, n), true, `s${n}`)
  assert.equal(revocations.isRevoked('busy', 'eve', 1), true, 'older sessions of the busy scope are revoked')
  assert.equal(revocations.isRevoked('busy', 'eve', 1_001), false)
  assert.equal(revocations.isRevoked('small', 'ada', 1), true)
  assert.equal(revocations.isRevoked('small', 'bob', 1), false, 'other scopes are unaffected')
})
