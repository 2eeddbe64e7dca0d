import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { WorkerPoolOptions } from '../../base/threads/worker-pool.ts'
import { METADATA_LIMITS } from '../../resources/index.ts'
import { Refusal } from '../errors.ts'
import type { SamlCheck } from './saml-checks.ts'
import { createSamlThread } from './saml-pool.ts'

function start(t: TestContext, options: Partial<WorkerPoolOptions> = {}) {
  const thread = createSamlThread(options)
  t.after(() => thread.close())
  return thread
}

const outcomeOf = (check: Promise<unknown>) =>
  check.then(
    () => 'done',
    (error) => (error instanceof Refusal ? `${error.status} ${error.code}` : (error as Error).message),
  )

const metadata = (xml: string): SamlCheck => ({ kind: 'metadata', xml, limits: METADATA_LIMITS })
/** A thread that does what a check is called. */
const TROUBLE = { module: new URL('../../base/testing/pool-worker.ts', import.meta.url), maxThreads: 1 }
const trouble = (kind: string) => ({ kind }) as unknown as SamlCheck

test('metadata is read in the thread, and what is wrong with it is told', async (t) => {
  const thread = start(t)
  const xml = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="urn:a"><IDPSSODescriptor>
    <KeyDescriptor><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>A A
    </X509Certificate><X509Certificate>AA</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
    <SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://a/?b&amp;c"/>
    </IDPSSODescriptor></EntityDescriptor>`

  assert.deepEqual(await thread.check('a', metadata(xml)), {
    entityId: 'urn:a',
    ssoUrl: 'https://a/?b&c',
    sloUrl: undefined,
    certificates: ['AA'],
  })
  const many = Array.from({ length: 9 }, (_, at) => `<X509Certificate>A${at}</X509Certificate>`).join('')
  assert.match(
    await outcomeOf(thread.check('a', metadata(xml.replace('<X509Data>', `<X509Data>${many}`)))),
    /more than 8/,
  )
  assert.match(await outcomeOf(thread.check('a', metadata('<a/>'))), /no identity provider/)
})

test('a check that hangs or ends its thread is refused alone, and the next one is done', async (t) => {
  for (const [kind, deadline] of [
    ['hang', 2000],
    ['exit', 60_000],
    ['memory', 60_000],
  ] as const) {
    const thread = start(t, { ...TROUBLE, deadline })

    const outcomes = await Promise.all(
      [kind, 'echo'].map((name) => outcomeOf(thread.check('a', trouble(name)))),
    )

    assert.deepEqual(outcomes, ['503 ERR_ADIT_3218', 'done'], kind)
  }
})

test('when too many wait, the next is told to come back, unless it is of another route', async (t) => {
  const thread = start(t, { ...TROUBLE, maxQueuedPerOwner: 2 })
  await thread.check('a', trouble('echo'))
  const waiting = ['hang', 'echo', 'echo'].map((kind) => outcomeOf(thread.check('a', trouble(kind))))

  const [own, other] = [thread.check('a', trouble('echo')), thread.check('b', trouble('echo'))]

  assert.equal(await outcomeOf(own), '503 ERR_ADIT_3218')
  assert.equal(await outcomeOf(other), 'done')
  assert.deepEqual(await Promise.all(waiting), ['503 ERR_ADIT_3218', 'done', 'done'])
})
