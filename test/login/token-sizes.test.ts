import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRenewals } from './renewals.ts'

const SCRIPTS = {
  Latin: (number: number) => `engineering-team-${number}`,
  Cyrillic: (number: number) => `отдел-разработки-${number}`,
  Han: (number: number) => `研究開発部門第${number}課`,
  emoji: (number: number) => `👩‍💻🚀 ${number}`,
}

for (const [script, name] of Object.entries(SCRIPTS))
  test(`a person in 0 to 150 groups with ${script} names signs in where a policy reads the ID token`, async (t) => {
    for (let count = 0; count <= 150; count += 15) {
      const { signIn, visit, account, observed } = await startRenewals(t, {
        show: 'identity_token',
        config: { scopes: ['openid', 'email', 'groups', 'offline_access'] },
        provider: { conformIdTokenClaims: false },
      })
      account.groups = Array.from({ length: count }, (_, index) => name(index))

      const token = await signIn()

      assert.equal((await visit()).status, 200, `${count} groups`)
      // Without it the policy reads an empty text, and the log says so.
      const isDropped = observed.logged.some((line) => line.includes('too large'))
      assert.ok(token.split('.').length === 3 || isDropped, `${count} groups`)
      if (count === 0) assert.equal(isDropped, false)
    }
  })
