import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redactCredentials } from '../../src/web/inspector/requests/credential-headers.ts'

test('an HTTP archive contains the names of credential headers, but not their values', () => {
  const secret = [
    'Authorization',
    'authorization',
    'Proxy-Authorization',
    'cookie',
    'Set-Cookie',
    'set-cookie',
    'X-Api-Key',
    'x-goog-apikey',
    'X-Gitlab-Token',
    'X-Auth-Token',
    'X-Hub-Signature-256',
    'Client-Secret',
  ]
  const plain = ['Accept', 'Host', 'Content-Type', 'User-Agent', 'X-Forwarded-For', 'Location']

  const redacted = redactCredentials([...secret, ...plain].map((name) => [name, 'CANARY']))

  assert.deepEqual(redacted, [
    ...secret.map((name) => [name, '[redacted]']),
    ...plain.map((name) => [name, 'CANARY']),
  ])
})
