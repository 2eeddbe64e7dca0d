import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventStreamParser } from '../event-lines.ts'
import { describeAction } from './audit-labels.ts'

const cases = [
  ['reserved_domains', 'create', 'Created reserved domain'],
  ['ip_policies', 'delete', 'Deleted IP policy'],
  ['edges_https', 'update', 'Changed HTTPS edge'],
  ['edges_https_routes', 'oidc.replace', 'Changed route of HTTPS edge (OIDC)'],
  ['backends_weighted', 'create', 'Created weighted backend'],
  ['tunnel_sessions', 'restart', 'Restarted tunnel session'],
  ['ssh_certificate_authorities', 'create', 'Created SSH certificate authority'],
  ['agent_ingresses', 'create', 'Created agent ingress'],
  ['dashboard', 'sign_in', 'Signed in to the dashboard'],
  ['dashboard', 'something_odd', 'Something odd'],
] as const

for (const [kind, action, words] of cases)
  test(`the audit log says "${words}" of ${kind} ${action}`, () => {
    assert.equal(describeAction(kind, action), words)
  })

test('events are put together however they were cut, and what is not data is passed over', () => {
  const whole = 'data: {"a":1}\n\n: comment\n\nevent: x\ndata: one\ndata: two\n\n'
  for (const size of [1, 2, 3, 7, whole.length]) {
    const seen: string[] = []
    const lines = new EventStreamParser((data) => seen.push(data))

    for (let at = 0; at < whole.length; at += size) lines.push(whole.slice(at, at + size))

    assert.deepEqual(seen, ['{"a":1}', 'one\ntwo'])
  }
})
