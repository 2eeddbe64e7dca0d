import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { silentLog } from '../base/process/log.ts'
import { startAutoRenew } from './auto-renew.ts'
import { openRootAuthority } from './x509/root-authority.ts'

const DAY = 24 * 60 * 60 * 1000
const CORRECT_TIME = Date.parse('2026-11-15T12:00:00Z')
const WRONG_TIMES = { ahead: Date.parse('2038-01-01T00:00:00Z'), behind: Date.parse('1999-12-31T00:00:00Z') }

function settableClock(now: number) {
  const clock = { time: now, now: () => clock.time, monotonic: () => 0 }
  return clock
}

/** The settings of a store. */
function memoryStore() {
  const settings = new Map<string, string>()
  return {
    setting: async (key: string) => settings.get(key),
    putSetting: async (key: string, value: string) => void settings.set(key, value),
  }
}

async function createFixture() {
  return { store: memoryStore(), dataDir: createTempDir(), log: silentLog }
}

function assertValid(pem: string, time: number): void {
  const { validFromDate, validToDate } = new X509Certificate(pem)
  assert.ok(validFromDate.getTime() <= time, `it is valid from ${validFromDate.toISOString()}`)
  assert.ok(time < validToDate.getTime(), `it is valid until ${validToDate.toISOString()}`)
}

for (const [how, wrong] of Object.entries(WRONG_TIMES)) {
  test(`a root created while the clock was ${how} is valid once the clock is right, for old and new copies of it`, async () => {
    const clock = settableClock(wrong)
    const root = await openRootAuthority({ ...(await createFixture()), clock })
    const before = root.authority.certificatePem

    clock.time = CORRECT_TIME
    const leaf = await root.authority.issueLeaf({ names: ['adit.localhost'] })

    assertValid(leaf.certificatePem, CORRECT_TIME)
    assertValid(root.authority.certificatePem, CORRECT_TIME)
    assert.equal(await readFile(root.file, 'utf8'), root.authority.certificatePem)
    for (const copy of [before, root.authority.certificatePem])
      assert.ok(new X509Certificate(leaf.certificatePem).verify(new X509Certificate(copy).publicKey))
    assert.ok(
      new X509Certificate(leaf.certificatePem).checkIssued(
        new X509Certificate(root.authority.certificatePem),
      ),
    )
  })

  test(`a server that starts with its clock ${how} keeps the key of its root`, async () => {
    const fixture = await createFixture()
    const first = await openRootAuthority({ ...fixture, clock: settableClock(CORRECT_TIME) })
    const before = new X509Certificate(first.authority.certificatePem)

    await openRootAuthority({ ...fixture, clock: settableClock(wrong) })
    const later = await openRootAuthority({ ...fixture, clock: settableClock(CORRECT_TIME) })

    assertValid(later.authority.certificatePem, CORRECT_TIME)
    const leaf = await later.authority.issueLeaf({ names: ['adit.localhost'] })
    assert.ok(new X509Certificate(leaf.certificatePem).verify(before.publicKey))
    assert.ok(new X509Certificate(leaf.certificatePem).checkIssued(before))
  })

  test(`a certificate issued while the clock was ${how} is replaced once the clock is right`, async (t) => {
    const clock = settableClock(wrong)
    const certificate = await startAutoRenew({
      issue: async (now) => now,
      renewAfterMs: 20 * DAY,
      clock,
      log: silentLog,
      name: 'test certificate',
    })
    t.after(certificate.stop)

    clock.time = CORRECT_TIME
    await certificate.check()

    assert.equal(certificate.current(), CORRECT_TIME)
  })
}

test('a valid root is kept, in the store and in its file', async () => {
  const fixture = await createFixture()
  const clock = settableClock(CORRECT_TIME)
  const first = await openRootAuthority({ ...fixture, clock })

  clock.time = CORRECT_TIME + 300 * DAY
  const later = await openRootAuthority({ ...fixture, clock })

  assert.equal(later.authority.certificatePem, first.authority.certificatePem)
  assert.equal(await readFile(join(fixture.dataDir, 'ca.pem'), 'utf8'), first.authority.certificatePem)
})

test('a certificate is renewed when it is due, and a failed renewal keeps the last one', async (t) => {
  const clock = settableClock(CORRECT_TIME)
  let fails = false
  const certificate = await startAutoRenew({
    issue: async (now) => {
      if (fails) throw new Error('the database is away')
      return now
    },
    renewAfterMs: 20 * DAY,
    clock,
    log: silentLog,
    name: 'test certificate',
  })
  t.after(certificate.stop)

  clock.time = CORRECT_TIME + 19 * DAY
  await certificate.check()
  assert.equal(certificate.current(), CORRECT_TIME)
  clock.time = CORRECT_TIME + 20 * DAY
  fails = true
  await certificate.check()
  assert.equal(certificate.current(), CORRECT_TIME)
  fails = false
  await certificate.check()
  assert.equal(certificate.current(), clock.time)
})
