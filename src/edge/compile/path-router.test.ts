import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countSteps } from '../../../test/support/count-steps.ts'
import { createCounters, type HttpRoute } from '../contracts/table.ts'
import { EdgeError } from '../errors.ts'
import { createPathRouter, type PathRule } from './path-router.ts'

function createRoute(id: string): HttpRoute {
  return {
    id,
    connectionSteps: undefined,
    steps: undefined,
    backend: () => undefined,
    counters: createCounters(),
  }
}

function parseRule(text: string): PathRule {
  const [type, match = ''] = text.split(' ')
  return { matchType: type === 'exact' ? 'exact_path' : 'path_prefix', match, route: createRoute(text) }
}

/** The id of the selected route, or the name of the error. */
function choose(rules: readonly string[], target: string): string {
  try {
    return createPathRouter(rules.map(parseRule), 'a.test')(target).id
  } catch (error) {
    if (error instanceof EdgeError) return error.name
    throw error
  }
}

const RULES = [
  'prefix /',
  'prefix /api',
  'prefix /api/v2/',
  'exact /api',
  'exact /login',
  'prefix /caf%c3%a9',
]

test('an exact path wins, then the longest prefix, character by character', () => {
  const expectedRoutes = {
    '/': 'prefix /',
    '/other': 'prefix /',
    '/api': 'exact /api',
    '/api?x=/login': 'exact /api',
    '/api/': 'prefix /api',
    '/apix': 'prefix /api',
    '/api/v2': 'prefix /api',
    '/api/v2/': 'prefix /api/v2/',
    '/api/v2/a/b': 'prefix /api/v2/',
    '/login': 'exact /login',
    '/login/': 'prefix /',
    '/LOGIN': 'prefix /',
    '*': 'prefix /',
    // Equivalent spellings select the same route.
    '/%6cogin': 'exact /login',
    '/l%6Fgin?q': 'exact /login',
    '/caf%C3%A9/x': 'prefix /caf%c3%a9',
    '/a%3Fb': 'prefix /',
    '/a%2Fb': 'prefix /',
    '/api%2Fv2%2fa': 'prefix /api/v2/',
    '/api//v2///a': 'prefix /api/v2/',
    '/caf\xc3\xa9': 'prefix /caf%c3%a9',
  }

  for (const [target, expected] of Object.entries(expectedRoutes)) {
    assert.equal(choose(RULES, target), expected, target)
  }
})

test('a path without a matching route is rejected', () => {
  assert.equal(choose(['prefix /api'], '/'), 'route_not_found')
  assert.equal(choose(['exact /api'], '/api/'), 'route_not_found')
  assert.equal(choose([], '/'), 'route_not_found')
})

test('ambiguous paths are rejected where routes differ (P28)', () => {
  const spellings = [
    '//login',
    '/%2flogin',
    '/./login',
    '/x/../login',
    '/x/..',
    '/.',
    '/..',
    '/%2e%2e/login',
    '/%2E/login',
    '/x%2f..%2Flogin',
    '/login/%ff',
    '/login/%zz',
    '/x%5clogin',
    '/x\\..\\login',
    '/login%00',
    '/login;a=b',
    '/;/login',
    '/x/%2e',
  ]

  for (const spelling of spellings) {
    assert.equal(choose(RULES, spelling), 'ambiguous_path', spelling)
    assert.equal(choose(RULES, `${spelling}?q`), 'ambiguous_path', spelling)
    // A single catch-all route has nothing to bypass.
    assert.equal(choose(['prefix /'], spelling), 'prefix /', spelling)
  }
  assert.equal(choose(RULES, '/a?next=//x/../y'), 'prefix /')
})

test('a lookup among a thousand routes takes as many steps as among ten', async () => {
  const count = (routes: number) =>
    countSteps(import.meta.resolve('./path-router.ts'), (router: typeof import('./path-router.ts')) => {
      const rules = Array.from({ length: routes }, (_, n) =>
        parseRule(`prefix /area-${String(n).padStart(6, '0')}/`),
      )
      const routeFor = router.createPathRouter([...rules, parseRule('prefix /')], 'a.test')
      return () => routeFor('/area-000003/some/page?and=query')
    })

  const few = await count(10)

  assert.ok(few > 0)
  assert.equal(await count(1000), few)
})
