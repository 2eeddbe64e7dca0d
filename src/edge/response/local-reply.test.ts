import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, constants } from 'node:http2'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { HTTP_VERSIONS, POLICY_HOST, startPolicyEndpoint } from '../testing/policy-endpoint.ts'

const SIZE = 240 * 1024

/** Makes a body of this size, in the request phase or in place of what the upstream sent. */
const policy = (phase: string, size = SIZE) =>
  JSON.stringify({
    [phase]: [
      {
        actions: [
          {
            type: 'custom-response',
            config: { body: `\${lists.range(${size / 1024}).map(x, '${'y'.repeat(1024)}').join('')}` },
          },
        ],
      },
    ],
  })

for (const phase of ['on_http_request', 'on_http_response']) {
  test(`${phase}: a large body of a policy arrives complete`, async (t) => {
    const { ask } = await startPolicyEndpoint(t, policy(phase))

    for (const version of HTTP_VERSIONS) {
      const { status, text } = await ask({}, version)
      assert.deepEqual([status, text.length, text.endsWith('y')], [200, SIZE, true])
    }
  })

  // A smaller body fits into the buffers of its stream, and is held there.
  for (const size of [SIZE, 60 * 1024])
    test(`${phase}: bodies of ${size} bytes for visitors who do not read are bounded, and freed when they leave`, async (t) => {
      const { ask, tlsPort, ca } = await startPolicyEndpoint(t, policy(phase, size))
      const allowed = Math.floor((32 * 1024 * 1024) / size)
      const requests = Math.ceil(allowed * 1.2)
      const sessions = Array.from({ length: Math.ceil(requests / 90) }, () =>
        connect(`https://${POLICY_HOST}:${tlsPort}`, {
          ...{ ca, host: '127.0.0.1' },
          settings: { initialWindowSize: 0 },
        } as object),
      )
      t.after(() => {
        for (const session of sessions) session.destroy()
      })
      const statuses = await Promise.all(
        Array.from({ length: requests }, async (_, index) => {
          const stream = sessions[index % sessions.length]!.request({ ':path': '/' })
          stream.on('error', () => {})
          const [headers] = await once(stream, 'response')
          return headers[constants.HTTP2_HEADER_STATUS] as number
        }),
      )

      assert.equal(statuses.filter((status) => status === 200).length, allowed)
      assert.equal(statuses.filter((status) => status === 503).length, requests - allowed)

      await Promise.all(
        sessions.map((session) => {
          session.destroy()
          return once(session, 'close')
        }),
      )
      await eventually(async () => (await ask()).text.length === size, 'the bodies are freed')
    })
}

test('a visitor who reads late gets all of a large body', async (t) => {
  const { tlsPort, ca } = await startPolicyEndpoint(t, policy('on_http_request'))
  const session = connect(`https://${POLICY_HOST}:${tlsPort}`, { ca, host: '127.0.0.1' } as object)
  t.after(() => session.destroy())
  const [first, second] = [session.request({ ':path': '/' }), session.request({ ':path': '/' })]
  await Promise.all([once(first, 'response'), once(second, 'response')])

  const lengths = await Promise.all(
    [first, second].map(async (stream) => {
      let length = 0
      for await (const chunk of stream) length += (chunk as Buffer).length
      return length
    }),
  )

  assert.deepEqual(lengths, [SIZE, SIZE])
})
