import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isUnreachable } from '../sign-in.ts'
import { createProviderFetch } from './provider-fetch.ts'

test('a provider that fails or limits requests is unavailable, one that rejects a request is not', async () => {
  const respond = (status: number) =>
    createProviderFetch({ fetch: async () => new Response('', { status }) })('https://id.example/userinfo')

  for (const status of [429, 500, 503]) await assert.rejects(respond(status), isUnreachable)
  for (const status of [200, 400, 401, 403]) assert.equal((await respond(status)).status, status)
})
