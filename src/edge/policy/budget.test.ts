import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureThreadCpu } from '../../../test/support/thread-cpu.ts'
import { HTTP_VERSIONS, startPolicyEndpoint } from '../testing/policy-endpoint.ts'

/** With the request itself on a slow machine; each of these took seconds. */
const MAX_CPU_MS = 500

const deny = { type: 'deny' }
const repeated = (condition: string) => `lists.range(3000).all(x, ${condition})`
const ENDS = { actions: [{ type: 'custom-response', config: { body: 'passed' } }] }

/** Each text holds the one before 50 times. */
const textsOfTexts = {
  type: 'set-vars',
  config: {
    vars: [
      { v0: 'x'.repeat(1000) },
      ...Array.from({ length: 5 }, (_, n) => ({ [`v${n + 1}`]: `\${vars.v${n}}`.repeat(50) })),
    ],
  },
}

const ATTACKS: Readonly<Record<string, object>> = {
  'cookies and parameters that are read in loops': {
    on_http_request: Array.from({ length: 100 }, () => ({
      expressions: [
        ...['size(req.cookies) > 0', 'size(req.url.query_params) > 0', "hasReqCookie('a')"].map(repeated),
        ...["size(getQueryParam('a')) > 0", 'req.headers.exists(k, v, true)'].map(repeated),
      ],
      actions: [{ type: 'log', config: { metadata: { a: 'b' } } }],
    })),
  },
  'thousands of expressions': {
    on_http_request: Array.from({ length: 100 }, () => ({
      expressions: Array.from({ length: 50 }, () => 'lists.range(900).all(x,x>=0)'),
      actions: [deny],
    })),
  },
  'texts of texts': { on_http_request: [{ actions: [textsOfTexts] }, ENDS] },
  'a body of many long parts': {
    on_http_request: [
      { actions: [{ type: 'set-vars', config: { vars: [{ a: 'x'.repeat(50_000) }] } }] },
      { actions: [{ type: 'custom-response', config: { body: '${vars.a}'.repeat(1000) } }] },
    ],
  },
  'a header that is longer than headers may be': {
    on_http_request: [
      { actions: [{ type: 'set-vars', config: { vars: [{ a: 'x'.repeat(20_000) }] } }] },
      { actions: [{ type: 'add-headers', config: { headers: { 'x-a': '${vars.a}' } } }] },
    ],
  },
  'many fields of a response that are long together': {
    on_http_response: [
      {
        actions: [
          { type: 'set-vars', config: { vars: [{ a: 'x'.repeat(15_000) }] } },
          ...Array.from({ length: 5 }, () => ({
            type: 'add-headers',
            config: { headers: { 'x-a': '${vars.a}' } },
          })),
        ],
      },
    ],
  },
  'a response of its own with fields that are long together': {
    on_http_request: [
      { actions: [{ type: 'set-vars', config: { vars: [{ a: 'x'.repeat(15_000) }] } }] },
      {
        actions: [
          {
            type: 'custom-response',
            config: {
              headers: Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`x-${n}`, '${vars.a}'])),
            },
          },
        ],
      },
    ],
  },
  'searches in many actions': {
    on_http_request: Array.from({ length: 20 }, () => ({
      actions: Array.from({ length: 20 }, () => ({
        type: 'url-rewrite',
        config: { from: 'a(?:(?:[^c]|[^d]|[^e]|[^f])*c)?', to: 'a' },
      })),
    })),
  },
  'fields that are added and removed': {
    on_http_request: Array.from({ length: 60 }, () => ({
      actions: Array.from({ length: 50 }, (_, n) =>
        n % 2 === 0
          ? { type: 'add-headers', config: { headers: { a: 'b', b: 'c', c: 'd', d: 'e' } } }
          : { type: 'remove-headers', config: { headers: ['x', 'y', 'z'] } },
      ),
    })),
  },
}

for (const [name, policy] of Object.entries(ATTACKS))
  test(`a policy with ${name} is ended by its budget, and the request is rejected`, async (t) => {
    const { ask } = await startPolicyEndpoint(t, JSON.stringify(policy))
    const request = {
      path: `/${'a'.repeat(3000)}?${'a&'.repeat(2000)}`,
      headers: { cookie: 'a=b;'.repeat(2000) },
    }

    for (const version of HTTP_VERSIONS) {
      let status = 0
      const ms = await measureThreadCpu(async () => {
        status = (await ask(request, version)).status
      })
      assert.equal(status, 500)
      assert.ok(ms < MAX_CPU_MS, `${ms} ms`)
    }
  })

test('the budget is that of one run: many requests and their responses use up none', async (t) => {
  const loop = [
    {
      expressions: ['lists.range(8000).all(x, x >= 0)'],
      actions: [{ type: 'log', config: { metadata: { a: 'b' } } }],
    },
  ]
  const { ask } = await startPolicyEndpoint(
    t,
    JSON.stringify({ on_http_request: loop, on_http_response: loop }),
  )

  for (let n = 0; n < 5; n++) assert.equal((await ask()).status, 200)
})
