import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Saml } from '../../../resources/index.ts'
import { versionedSettings } from './settings-version.ts'

test('a setting that came later counts only where it says something', () => {
  const earlier = { issuer: 'https://id.test', force_authn: false }

  assert.deepEqual(versionedSettings({ ...earlier, token_endpoint_auth_method: '' }), earlier)
  assert.deepEqual(versionedSettings({ ...earlier, token_endpoint_auth_method: 'none' }), {
    ...earlier,
    token_endpoint_auth_method: 'none',
  })
})

test('sessions of the module saml are valid for the settings of the first release', () => {
  // With a new setting in here, or in another order, all sessions end at the upgrade.
  const first = [
    ...['enabled', 'options_passthrough', 'cookie_prefix', 'inactivity_timeout', 'maximum_duration'],
    ...['idp_metadata', 'idp_metadata_url', 'force_authn', 'allow_idp_initiated', 'authorized_groups'],
    ...['nameid_format', 'entity_id', 'assertion_consumer_service_url', 'single_logout_url', 'metadata_url'],
    ...['request_signing_certificate_pem', 'request_signing_key_pem'],
  ]

  assert.deepEqual(Object.keys(versionedSettings(Saml.value.fallback)), first)
})
