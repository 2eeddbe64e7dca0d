import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EdgeError } from '../errors.ts'
import { createCounters, type HttpRoute } from '../table.ts'
import { createPathRouter, type PathRule } from './path-router.ts'

function createRoute(id: string): HttpRoute {
  return { id, admission: undefined, steps: undefined, backend: () => undefined, counters: createCounters() }
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
    '/x//login',
    '/./login',
    '/x/../login',
    '/x/..',
    '/.',
    '/..',
    '/%2e%2e/login',
    '/%2E/login',
    '/x%2flogin',
    '/x%2Flogin',
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

test('a lookup among a thousand routes costs about as much as among ten', () => {
  const measure = (count: number): number => {
    const rules = Array.from({ length: count }, (_, n) =>
      parseRule(`prefix /area-${String(n).padStart(6, '0')}/`),
    )
    const routeFor = createPathRouter([...rules, parseRule('prefix /')], 'a.test')
    let best = Number.POSITIVE_INFINITY
    for (let round = 0; round < 5; round++) {
      const startedAt = performance.now()
      for (let n = 0; n < 20_000; n++) routeFor('/area-000003/some/page?and=query')
      best = Math.min(best, performance.now() - startedAt)
    }
    return best
  }

  const few = measure(10)
  const many = measure(1000)

  assert.ok(many < few * 3, `${many} ms against ${few} ms`)
})
