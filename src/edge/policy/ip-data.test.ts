import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileIpFile, openIpData } from '../../policy/index.ts'
import { startPolicyEndpoint } from '../testing/policy-endpoint.ts'

test('a policy decides by the categories of the visitor, which may change while it is served', async (t) => {
  const open = (text: string) => openIpData([compileIpFile(Buffer.from(text), undefined)])
  let data = open('127.0.0.0/8 blocklist.test')
  const { ask } = await startPolicyEndpoint(
    t,
    'on_http_request: [{expressions: ["conn.client_ip.is_on_blocklist"], actions: [{type: deny}]}]',
    { dependencies: { ipData: { lookUp: (address) => data.lookUp(address) } } },
  )

  const listed = await ask()
  data = open('10.0.0.0/8 blocklist.test')
  const unlisted = await ask()

  assert.deepEqual([listed.status, unlisted.status], [403, 200])
})
