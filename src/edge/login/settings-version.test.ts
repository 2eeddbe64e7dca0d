import assert from 'node:assert/strict'
import { test } from 'node:test'
import { versionedSettings } from './settings-version.ts'

test('a setting that came later counts only where it says something', () => {
  const earlier = { issuer: 'https://id.test', force_authn: false }

  assert.deepEqual(versionedSettings({ ...earlier, token_endpoint_auth_method: '' }), earlier)
  assert.deepEqual(versionedSettings({ ...earlier, token_endpoint_auth_method: 'none' }), {
    ...earlier,
    token_endpoint_auth_method: 'none',
  })
})
