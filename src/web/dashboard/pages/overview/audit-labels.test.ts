import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventStreamParser } from '../event-stream.ts'
import { describeAction } from './audit-labels.ts'

const cases = [
  ['reserved_domains', 'create', 'Created reserved domain'],
  ['ip_policies', 'delete', 'Deleted IP policy'],
  ['edges_https', 'update', 'Changed HTTPS edge'],
  ['edges_https_routes', 'oidc.replace', 'Changed route of HTTPS edge (OIDC)'],
  ['backends_weighted', 'create', 'Created weighted backend'],
  ['backends_static', 'create', 'Created fixed address backend'],
  ['reserved_addrs', 'create', 'Created reserved address'],
  ['kubernetes_operators', 'delete', 'Deleted Kubernetes operator'],
  ['tunnel_sessions', 'restart', 'Restarted tunnel session'],
  ['ssh_certificate_authorities', 'create', 'Created SSH certificate authority'],
  ['agent_ingresses', 'create', 'Created agent ingress'],
  ['edges_https_routes', 'oidc.get', 'Viewed secrets of route of HTTPS edge (OIDC)'],
  ['dashboard', 'sign_in', 'Signed in to the dashboard'],
  ['dashboard', 'sign_in_with_recovery_code', 'Signed in with a recovery code'],
  ['dashboard', 'something_odd', 'Something odd'],
] as const

for (const [kind, action, text] of cases)
  test(`the audit log describes ${kind} ${action} as "${text}"`, () => {
    assert.equal(describeAction({ kind, action, outcome: 'done' }), text)
  })

test('a call that was rejected is not told as done', () => {
  const outcome = 'refused'
  assert.equal(
    describeAction({ kind: 'reserved_domains', action: 'create', outcome }),
    'Tried to create reserved domain',
  )
  assert.equal(
    describeAction({ kind: 'dashboard', action: 'sign_in', outcome }),
    'Tried to sign in to the dashboard',
  )
})

test('the event stream parser handles any chunking and ignores lines that are not data', () => {
  const stream = 'data: {"a":1}\n\n: comment\n\nevent: x\ndata: one\ndata: two\n\n'
  for (const size of [1, 2, 3, 7, stream.length]) {
    const received: string[] = []
    const parser = new EventStreamParser((data) => received.push(data))

    for (let offset = 0; offset < stream.length; offset += size)
      parser.push(stream.slice(offset, offset + size))

    assert.deepEqual(received, ['{"a":1}', 'one\ntwo'])
  }
})
