import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tempDir } from '../../test/support/api.ts'
import { silentLog } from '../base/log.ts'
import { keepFresh } from './auto-renew.ts'
import { openRootAuthority } from './root-authority.ts'

const DAY = 24 * 60 * 60 * 1000
const RIGHT = Date.parse('2026-11-15T12:00:00Z')
const WRONG = { ahead: Date.parse('2038-01-01T00:00:00Z'), behind: Date.parse('1999-12-31T00:00:00Z') }

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

async function place(t: TestContext) {
  return { store: memoryStore(), dataDir: await tempDir(t), log: silentLog }
}

function assertValid(pem: string, at: number): void {
  const { validFromDate, validToDate } = new X509Certificate(pem)
  assert.ok(validFromDate.getTime() <= at, `it is valid from ${validFromDate.toISOString()}`)
  assert.ok(at < validToDate.getTime(), `it is valid until ${validToDate.toISOString()}`)
}

for (const [how, wrong] of Object.entries(WRONG)) {
  test(`a root made while the clock was ${how} is valid once the clock is right, for old and new copies of it`, async (t) => {
    const clock = settableClock(wrong)
    const root = await openRootAuthority({ ...(await place(t)), clock })
    const before = root.authority.certificatePem

    clock.time = RIGHT
    const leaf = await root.authority.issueLeaf({ names: ['adit.localhost'] })

    assertValid(leaf.certificatePem, RIGHT)
    assertValid(root.authority.certificatePem, RIGHT)
    assert.equal(await readFile(root.file, 'utf8'), root.authority.certificatePem)
    for (const copy of [before, root.authority.certificatePem])
      assert.ok(new X509Certificate(leaf.certificatePem).verify(new X509Certificate(copy).publicKey))
    assert.ok(
      new X509Certificate(leaf.certificatePem).checkIssued(
        new X509Certificate(root.authority.certificatePem),
      ),
    )
  })

  test(`a server that starts with its clock ${how} keeps the key of its root`, async (t) => {
    const where = await place(t)
    const first = await openRootAuthority({ ...where, clock: settableClock(RIGHT) })
    const before = new X509Certificate(first.authority.certificatePem)

    await openRootAuthority({ ...where, clock: settableClock(wrong) })
    const later = await openRootAuthority({ ...where, clock: settableClock(RIGHT) })

    assertValid(later.authority.certificatePem, RIGHT)
    const leaf = await later.authority.issueLeaf({ names: ['adit.localhost'] })
    assert.ok(new X509Certificate(leaf.certificatePem).verify(before.publicKey))
    assert.ok(new X509Certificate(leaf.certificatePem).checkIssued(before))
  })

  test(`a certificate made while the clock was ${how} is replaced once the clock is right`, async (t) => {
    const clock = settableClock(wrong)
    const certificate = await keepFresh({
      make: async (now) => now,
      renewAfterMs: 20 * DAY,
      clock,
      log: silentLog,
      what: 'test certificate',
    })
    t.after(certificate.stop)

    clock.time = RIGHT
    await certificate.check()

    assert.equal(certificate.current(), RIGHT)
  })
}

test('a root that is valid stays as it is, in the store and in its file', async (t) => {
  const where = await place(t)
  const clock = settableClock(RIGHT)
  const first = await openRootAuthority({ ...where, clock })

  clock.time = RIGHT + 300 * DAY
  const later = await openRootAuthority({ ...where, clock })

  assert.equal(later.authority.certificatePem, first.authority.certificatePem)
  assert.equal(await readFile(join(where.dataDir, 'ca.pem'), 'utf8'), first.authority.certificatePem)
})

test('a certificate is made anew when it is due, and one that cannot be made leaves the last in place', async (t) => {
  const clock = settableClock(RIGHT)
  let fails = false
  const certificate = await keepFresh({
    make: async (now) => {
      if (fails) throw new Error('the database is away')
      return now
    },
    renewAfterMs: 20 * DAY,
    clock,
    log: silentLog,
    what: 'test certificate',
  })
  t.after(certificate.stop)

  clock.time = RIGHT + 19 * DAY
  await certificate.check()
  assert.equal(certificate.current(), RIGHT)
  clock.time = RIGHT + 20 * DAY
  fails = true
  await certificate.check()
  assert.equal(certificate.current(), RIGHT)
  fails = false
  await certificate.check()
  assert.equal(certificate.current(), clock.time)
})
