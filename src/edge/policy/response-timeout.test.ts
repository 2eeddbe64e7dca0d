import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { shortLimits } from '../testing/edge.ts'
import { HTTP_VERSIONS, startPolicyEndpoint } from '../testing/policy-endpoint.ts'

const timeout = (duration: string, expression: string) => ({
  expressions: [expression],
  actions: [{ type: 'response-timeout', config: { duration } }],
})

for (const version of HTTP_VERSIONS) {
  test(`a policy lets an upstream be silent for longer than the server does over ${version}`, async (t) => {
    const waiting = new Map<string, ServerResponse>()
    const policy = JSON.stringify({
      on_http_request: [timeout('1h', "req.url.path == '/report'")],
      on_http_response: [timeout('1h', "res.content_type == 'text/event-stream'")],
    })
    const { ask } = await startPolicyEndpoint(t, policy, {
      config: { limits: { ...shortLimits, progress: 300, response: 300 } },
      listener({ url = '' }, response) {
        if (url === '/events') response.setHeader('content-type', 'text/event-stream').write('data: 1\n\n')
        waiting.set(url, response)
      },
    })

    const report = ask({ path: '/report' }, version)
    const events = ask({ path: '/events' }, version)
    const upload = ask({ path: '/report?upload', method: 'POST', body: 'x' }, version)
    await eventually(() => waiting.size === 3, 'three requests wait')
    // Each of these takes as long as the others would if the policy had no effect.
    for (let round = 0; round < 3; round++) {
      const { status, text } = await ask({ path: '/other' }, version)
      assert.equal(status, 504)
      assert.match(text, /sent nothing for 0\.3 s/)
    }
    for (const response of waiting.values()) if (!response.destroyed) response.end('done')

    assert.equal((await report).text, 'done')
    assert.equal((await events).text, 'data: 1\n\ndone')
    assert.equal((await upload).text, 'done')
  })

  test(`a policy ends a request earlier than the server does over ${version}`, async (t) => {
    const { ask } = await startPolicyEndpoint(
      t,
      JSON.stringify({ on_http_request: [timeout('1s', 'true')] }),
      {
        config: { limits: { ...shortLimits, progress: 60_000, response: 0 } },
        listener: () => {},
      },
    )

    for (const request of [{}, { method: 'POST', body: 'x' }]) {
      const { status, text } = await ask(request, version)
      assert.equal(status, 504)
      assert.match(text, /sent nothing for 1 s\.\nERR_ADIT_8014/)
    }
  })
}
