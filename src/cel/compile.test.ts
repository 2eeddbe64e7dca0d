import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from './compile.ts'
import { diagnosticText } from './diagnostic.ts'
import { Environment } from './environment.ts'
import { overload } from './signature.ts'
import { BOOL, type Field, INT, listOf, mapOf, objectOf, type Shape, STRING, TIMESTAMP } from './types.ts'
import { EvaluationError, Struct, Timestamp, type Value } from './values.ts'

interface Request {
  readonly method: string
  readonly url: string
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly cookies?: readonly string[]
  readonly size?: number
}

/** The fields that were read, in their order. */
const reads: string[] = []

const traced = (name: string, field: Field): Field => ({
  type: field.type,
  read: (source) => {
    reads.push(name)
    return field.read(source)
  },
})

const Url: Shape = {
  name: 'url',
  fields: {
    path: { type: STRING, read: (url: string) => new URL(url).pathname },
    port: { type: INT, read: (url: string) => Number(new URL(url).port) || undefined },
  },
  text: (url: string) => url,
}

const Cookie: Shape = {
  name: 'cookie',
  fields: { value: { type: STRING, read: (cookie: string) => cookie } },
}

const RequestShape: Shape = {
  name: 'req',
  fields: {
    method: traced('method', { type: STRING, read: ({ method }: Request) => method }),
    url: traced('url', { type: objectOf(Url), read: ({ url }: Request) => url }),
    headers: traced('headers', {
      type: mapOf(STRING, listOf(STRING)),
      read: ({ headers }: Request) => headers,
    }),
    cookies: traced('cookies', {
      type: listOf(objectOf(Cookie)),
      read: ({ cookies = [] }: Request) => cookies.map((cookie) => new Struct(Cookie, cookie)),
    }),
    size: traced('size', { type: INT, read: ({ size }: Request) => size }),
    time: { type: TIMESTAMP, read: () => Timestamp.fromMillis(1_700_000_000_000) },
  },
}

const environment = new Environment({
  variables: {
    req: { type: objectOf(RequestShape), read: (request: Request) => request },
    secure: { type: BOOL, read: () => true },
  },
  functions: [
    overload('getHeader(string) -> list(string)', ({ activation }, name: string) => [
      ...((activation as Request).headers.get(name.toLowerCase()) ?? []),
    ]),
  ],
})

const request: Request = {
  method: 'GET',
  url: 'https://example.com:8443/a/b?c=d',
  headers: new Map([['x-kind', ['one', 'two']]]),
  cookies: ['sugar', 'salt'],
}

function evaluate(source: string): Value {
  const compilation = compile(source, environment)
  assert.ok(compilation.ok, compilation.ok ? '' : compilation.errors.map(diagnosticText).join('\n'))
  reads.length = 0
  return compilation.program.evaluate(request)
}

function mistakes(source: string): string[] {
  const compilation = compile(source, environment)
  return compilation.ok ? [] : compilation.errors.map(diagnosticText)
}

test('a string with fields compares and concatenates as a string, and only a selection sees its fields', () => {
  assert.equal(evaluate("req.url == 'https://example.com:8443/a/b?c=d'"), true)
  assert.equal(evaluate("req.url in ['x', 'https://example.com:8443/a/b?c=d']"), true)
  assert.equal(evaluate("req.url.startsWith('https:') && req.url.path == '/a/b'"), true)
  assert.equal(evaluate("req.url + '!'"), `${request.url}!`)
  assert.deepEqual(evaluate('[req.url]'), [request.url])
  assert.equal(evaluate('type(req.url) == string'), true)
  assert.equal(evaluate('req.url.port'), 8443)
  assert.equal(evaluate('cel.bind(u, req.url, u.path + u)'), `/a/b${request.url}`)
  assert.equal(evaluate("(secure ? req.url : 'x').size()"), request.url.length)
})

test('an evaluation reads only the fields that it needs', () => {
  assert.equal(evaluate("req.method == 'POST' && req.url.path == '/a'"), false)

  assert.deepEqual(reads, ['method'])
})

test('an absent field is an error that has() and the other side of || avoid', () => {
  assert.throws(() => evaluate('req.size > 1'), EvaluationError)
  assert.equal(evaluate('has(req.size)'), false)
  assert.equal(evaluate("req.size > 1 || req.method == 'GET'"), true)
  assert.equal(evaluate('req.?size.orValue(7)'), 7)
  assert.equal(evaluate("has(req.headers.missing) || 'x-kind' in req.headers"), true)
})

test('objects in lists have their fields, and functions see the activation', () => {
  assert.equal(evaluate("req.cookies.exists(cookie, cookie.value == 'salt')"), true)
  assert.deepEqual(evaluate('req.cookies.map(cookie, cookie.value)'), ['sugar', 'salt'])
  assert.equal(evaluate("getHeader('X-Kind').join(',') == 'one,two'"), true)
  assert.equal(
    evaluate("req.headers.exists_one(x, x == 'x-kind') && req.headers['x-kind'].join(',') == 'one,two'"),
    true,
  )
  assert.equal(evaluate("dyn(req).method == 'GET' && dyn(req.cookies[0]) == req.cookies[0]"), true)
})

test('times have parts in the time zone that is named', () => {
  assert.equal(evaluate("req.time.getHours('Asia/Kolkata') * 100 + req.time.getMinutes('+05:30')"), 343)
  assert.equal(evaluate("req.time < timestamp('2024-01-01T00:00:00Z') + duration('24h')"), true)
  assert.throws(() => evaluate("req.time.getHours('Europe/Atlantis')"), /no time zone/)
})

const REJECTED: [source: string, expected: string][] = [
  ["req.method = 'GET'", '1:12: "=" is not allowed here\n  req.method = \'GET\'\n             ^'],
  ['req.methd', '1:4: req has no field methd; did you mean method?\n  req.methd\n     ^'],
  ['true &&\n  req.method', '2:6: bool was expected instead of string\n    req.method\n       ^'],
  ["1 == '1'", "1:3: == cannot be applied to (int, string)\n  1 == '1'\n    ^"],
  ["'ü' + reqq", "1:7: reqq is not known; did you mean req?\n  'ü' + reqq\n        ^"],
  ["req.url.matches('(')", ''],
  ["timestamp('yesterday')", ''],
  ['secure ? 1 : "a"', ''],
  ['req.url.path.pathh', ''],
  ['[1, 2].exists(1, true)', ''],
  ['has(req)', ''],
  ['package', ''],
  ['99999999999999999999', ''],
  ['req.method.startWith("a")', ''],
  ['b"\\u0041"', ''],
  ['1 +', ''],
  ['', ''],
]

for (const [source, expected] of REJECTED) {
  test(`the expression ${JSON.stringify(source)} is rejected with its place`, () => {
    const [first] = mistakes(source)

    assert.match(first ?? '', /^\d+:\d+: .+\n {2}.*\n *\^$/)
    if (expected !== '') assert.equal(first, expected)
  })
}

test('all mistakes of an expression are reported, each once', () => {
  assert.deepEqual(
    mistakes('nothing.at.all && req.methd == 1 && req.method').map((text) => text.split('\n')[0]),
    [
      '1:1: nothing is not known',
      '1:22: req has no field methd; did you mean method?',
      '1:40: bool was expected instead of string',
    ],
  )
})

test('fields that every JavaScript object has do not exist', () => {
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
    assert.match(mistakes(`req.${name}`)[0] ?? '', /no field/)
    assert.throws(() => evaluate(`dyn(req).${name}`), EvaluationError)
    assert.throws(() => evaluate(`req.headers.${name}`), EvaluationError)
    assert.throws(() => evaluate(`dyn('text').${name}`), EvaluationError)
  }
})
