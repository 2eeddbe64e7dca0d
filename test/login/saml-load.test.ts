import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { createSelfSigned } from '../../src/certs/index.ts'
import { CookieClient } from '../support/browser-client.ts'
import { forgeResponse } from './saml-forge.ts'
import { startSamlProcess } from './saml-route.ts'

const CONCURRENCY = 6
const MAX_CPU_MS = 50

/** Returns the CPU milliseconds used so far by the event loop thread. */
async function mainThreadCpu(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/task/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // utime and stime, in hundredths of a second.
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Creates messages that an unauthenticated client can send, each expensive to process in its own way. */
async function hostileMessages(acs: string, entityId: string): Promise<Record<string, string>> {
  const { privateKeyPem } = await createSelfSigned({ commonName: 'stranger' })
  const fields = { key: privateKeyPem.reveal(), acs, entityId, sign: 'both' as const }
  const forgedXml = forgeResponse(fields)
  const siblings = (count: number, before: string) =>
    forgedXml.replace(before, `${'<x></x>'.repeat(count)}${before}`)
  const unclosedTags = (bytes: number) => `<Response b="${'<Response-'.repeat(bytes / 10)}"/>`
  return {
    '350 KB of unterminated tags': unclosedTags(255_000),
    'the same within all size limits': unclosedTags(120_000),
    '4,800 siblings and an invalid signature': siblings(4800, '<samlp:Status>'),
    'as many siblings as are accepted': siblings(900, '<samlp:Status>'),
    'the same inside the signed element': siblings(900, '<saml:AttributeStatement>'),
    'the same inside a signature': siblings(900, '<SignatureValue>'),
    '800 groups': forgeResponse({
      ...fields,
      groups: Array.from({ length: 800 }, (_, index) => `group ${index}`),
    }),
    'text of the maximum length': forgedXml.replace('>staff<', `>${'&#97;'.repeat(22_000)}<`),
  }
}

test('no message of an unauthenticated client blocks the event loop', async (t) => {
  const { server, saml, platform, signIn, url } = await startSamlProcess(t, ['--login-rate-limit', '0'])
  const acs = saml.assertion_consumer_service_url
  const post = (xml: string) =>
    platform
      .fetch(acs, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ SAMLResponse: btoa(xml), RelayState: `${url}/page` }).toString(),
      })
      .then(async (response) => {
        await response.arrayBuffer()
        return response.status
      })
  const messages = await hostileMessages(acs, saml.entity_id)
  await post('<warm/>')

  for (const [title, xml] of Object.entries(messages)) {
    const before = await mainThreadCpu(server.pid)
    let pending = CONCURRENCY
    const posts = Array.from({ length: CONCURRENCY }, async () => {
      const status = await post(xml)
      pending--
      return status
    })
    let healthChecks = 0
    while (pending > 0) {
      assert.equal((await platform.fetch(`${server.url}/healthz`)).status, 200)
      if (pending > 0) healthChecks++
    }
    const statuses = await Promise.all(posts)
    const cpuMsPerRequest = ((await mainThreadCpu(server.pid)) - before) / (CONCURRENCY + healthChecks)

    for (const status of statuses) assert.ok(status === 403 || status === 413, `${title}: ${status}`)
    assert.ok(cpuMsPerRequest < MAX_CPU_MS, `${title} cost the event loop ${cpuMsPerRequest} ms each`)
  }

  assert.equal((await signIn(new CookieClient(platform))).status, 200)
})

test('invalid messages are rate limited per client, and valid ones are not counted', async (t) => {
  // Workers divide the limit.
  const flags = ['--login-rate-limit', '3', '--workers', '1']
  const { platform, signIn, saml, url } = await startSamlProcess(t, flags)
  const post = (address: string, method = 'POST') =>
    platform.fetch(address, {
      method,
      ...(method === 'POST' && {
        body: new URLSearchParams({ SAMLResponse: 'x', RelayState: `${url}/` }).toString(),
      }),
    })

  for (let index = 0; index < 5; index++)
    assert.equal((await signIn(new CookieClient(platform))).status, 200, 'valid')
  assert.equal((await post(saml.assertion_consumer_service_url)).status, 403)
  assert.equal((await post(`${saml.single_logout_url}?SAMLRequest=x`, 'GET')).status, 403)
  assert.equal((await post(saml.assertion_consumer_service_url)).status, 403)

  for (const address of [saml.assertion_consumer_service_url, saml.single_logout_url]) {
    const response = await post(address)
    assert.equal(response.status, 429)
    assert.equal(response.headers.get('adit-error-code'), 'ERR_ADIT_3219')
    assert.match(response.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
  }
  assert.equal((await platform.fetch(saml.metadata_url)).status, 200, 'cheap requests are not limited')
})
