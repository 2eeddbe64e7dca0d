import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { WorkerPoolOptions } from '../../../base/threads/worker-pool.ts'
import { METADATA_LIMITS } from '../../../resources/index.ts'
import { EdgeError } from '../../errors.ts'
import type { SamlCheck } from './saml-checks.ts'
import { SamlWorkers } from './saml-pool.ts'

function start(t: TestContext, options: Partial<WorkerPoolOptions> = {}) {
  const workers = new SamlWorkers(options)
  t.after(() => workers.close())
  return workers
}

const settle = (check: Promise<unknown>) =>
  check.then(
    () => 'done',
    (error) => (error instanceof EdgeError ? `${error.status} ${error.code}` : (error as Error).message),
  )

const metadata = (xml: string): SamlCheck => ({ kind: 'metadata', xml, limits: METADATA_LIMITS })
/** A worker whose behaviour is selected by the kind of the check. */
const FAULTY_WORKER = {
  module: new URL('../../../base/testing/pool-worker.ts', import.meta.url),
  maxThreads: 1,
}
const faultyCheck = (kind: string) => ({ kind }) as unknown as SamlCheck

test('metadata is parsed in a worker, and its problems are reported', async (t) => {
  const workers = start(t)
  const xml = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="urn:a"><IDPSSODescriptor>
    <KeyDescriptor><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>A A
    </X509Certificate><X509Certificate>AA</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
    <SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://a/?b&amp;c"/>
    </IDPSSODescriptor></EntityDescriptor>`

  assert.deepEqual(await workers.check('a', metadata(xml)), {
    entityId: 'urn:a',
    ssoUrl: 'https://a/?b&c',
    sloUrl: undefined,
    certificates: ['AA'],
  })
  const many = Array.from({ length: 9 }, (_, index) => `<X509Certificate>A${index}</X509Certificate>`).join(
    '',
  )
  assert.match(
    await settle(workers.check('a', metadata(xml.replace('<X509Data>', `<X509Data>${many}`)))),
    /more than 8/,
  )
  assert.match(await settle(workers.check('a', metadata('<a/>'))), /no identity provider/)
  assert.match(
    await settle(workers.check('a', metadata(xml.replace('HTTP-Redirect', 'HTTP-POST')))),
    /HTTP-Redirect binding.*HTTP-POST is not enough/,
  )
  assert.match(
    await settle(workers.check('a', metadata(xml.replace('SingleSignOnService', 'SingleLogoutService')))),
    /names no SingleSignOnService$/,
  )
})

test('a check that hangs or kills its worker fails alone, and the next one runs', async (t) => {
  for (const [kind, deadline] of [
    ['hang', 2000],
    ['exit', 60_000],
    ['memory', 60_000],
  ] as const) {
    const workers = start(t, { ...FAULTY_WORKER, jobTimeoutMs: deadline })

    const outcomes = await Promise.all(
      [kind, 'echo'].map((name) => settle(workers.check('a', faultyCheck(name)))),
    )

    assert.deepEqual(outcomes, ['503 ERR_ADIT_3218', 'done'], kind)
  }
})

test('a full queue rejects further checks of the same account only', async (t) => {
  const workers = start(t, { ...FAULTY_WORKER, maxQueued: 4 })
  await workers.check('a', faultyCheck('echo'))
  const waiting = ['hang', 'echo', 'echo'].map((kind) => settle(workers.check('a', faultyCheck(kind))))

  const [sameAccount, otherAccount] = [
    workers.check('a', faultyCheck('echo')),
    workers.check('b', faultyCheck('echo')),
  ]

  assert.equal(await settle(sameAccount), '503 ERR_ADIT_3218')
  assert.equal(await settle(otherAccount), 'done')
  assert.deepEqual(await Promise.all(waiting), ['503 ERR_ADIT_3218', 'done', 'done'])
})
