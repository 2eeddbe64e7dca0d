import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runTests } from '../support/run-tests.ts'

/**
 * The attacks that `npm test` runs on one node with SQLite. Here each platform is two nodes on PostgreSQL: visitors use one,
 * agents, SSH clients and API calls the other. `test/tenancy`, `test/login/*nodes.test.ts` and `test/e2e/name-ownership.test.ts`
 * always start several nodes.
 */
const ATTACKS: Readonly<Record<string, readonly string[]>> = {
  'identity providers, codes and states': ['test/login/oidc.test.ts', 'test/login/code-theft.test.ts'],
  SAML: ['test/login/saml-attacks.test.ts', 'test/login/saml-state.test.ts', 'test/login/saml.test.ts'],
  'modules, webhooks, WebSocket, CONNECT and static backends': [
    'test/e2e/module-bypass.test.ts',
    'test/e2e/modules.test.ts',
  ],
  'SSH bind rules and certificates': [
    'test/ssh/hardening.test.ts',
    'test/ssh/user-certificates.test.ts',
    'test/ssh/shared-keys.test.ts',
    'test/ssh/security-key.test.ts',
  ],
  'names and ingresses of other accounts': ['test/e2e/ingress.test.ts', 'test/e2e/claimed-names.test.ts'],
  'pages of other sites': ['test/web/dashboard-attacks.test.ts'],
  'hostile upstreams': ['test/reliability/hostile-upstreams.test.ts'],
}

for (const [name, files] of Object.entries(ATTACKS))
  test(`attacks fail on two nodes with PostgreSQL as on one: ${name}`, async () => {
    const { code, output } = await runTests(files, { TEST_NODES: '2' })

    assert.equal(code, 0, output)
    assert.match(output, /pass [1-9]/)
  })
