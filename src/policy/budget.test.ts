import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureThreadCpu } from '../../test/support/thread-cpu.ts'
import { Budget, CostExceeded, compile, EvaluationError, type Meter, type Value } from '../cel/index.ts'
import type { Activation, MessageSource } from './activation.ts'
import { compileTemplate } from './template.ts'
import { environments } from './variables/index.ts'

/** Those of a phase: about 5 milliseconds of work. */
const UNITS = 100_000

/** Far from what the work takes, and from what it took without charge. */
const MAX_CPU_MS = 150

/** A message with as much in its head as the edge accepts. */
function message(fields: Record<string, string>, budget: Budget) {
  const headers = new Map(Object.entries(fields).map(([name, value]) => [name, [value]]))
  const facts = new Map<unknown, unknown>()
  return {
    headers,
    header: (name: string) => headers.get(name) ?? [],
    once<M extends MessageSource, T>(this: M, read: (message: M, meter: Meter) => T): T {
      if (!facts.has(read)) facts.set(read, read(this, budget))
      return facts.get(read) as T
    },
  }
}

function activation(): Activation {
  const budget = new Budget(UNITS)
  return {
    budget,
    conn: {
      ...{ remoteAddress: '10.1.2.3', remotePort: 5000, localAddress: '127.0.0.1', localPort: 443 },
      ...{ region: 'eu', startedAt: 0, bytesIn: 0, bytesOut: 0, tls: undefined },
      ipFacts: () => undefined,
    },
    endpoint: { id: 'ep_1', protocol: 'https', host: 'a', port: 1, addr: 'a:1', url: 'https://a' },
    req: {
      path: { escaped: '/A', decoded: '/A' },
      ...{ method: 'GET', scheme: 'https', host: 'a.test', authority: 'a.test', version: 'HTTP/1.1' },
      ...{ target: `/${'%41'.repeat(1300)}?${'a&'.repeat(2000)}`, contentLength: 0, receivedAt: 0 },
      ...message(
        {
          cookie: 'a=b;'.repeat(3900),
          'user-agent': 'X-'.repeat(8000),
          'content-type': `a/b;${'a=b;'.repeat(3900)}`,
          'content-encoding': 'a,'.repeat(7900),
        },
        budget,
      ),
    },
    res: {
      ...{ status: 200, contentLength: 0 },
      ...message({ 'set-cookie': `a=b;${'max-age=1;'.repeat(1500)}`, 'content-type': 'a/b' }, budget),
    },
    vars: new Map<string, Value>([
      ['long', 'Aa'.repeat(100_000)],
      ['faces', '\u{1f600}'.repeat(100_000)],
      ['controls', '\0 '.repeat(100_000)],
      ['list', Array.from({ length: 20_000 }, (_, index) => index)],
    ]),
    retry: undefined,
    results: {},
    secret: () => 'secret',
    now: () => 0,
  }
}

const repeated = (condition: string) => `lists.range(30000).all(x, ${condition})`

/** Lists that hold the list before four times: few steps to make, 4^60 elements as JSON. */
const nested = (body: string) =>
  Array.from(
    { length: 60 },
    (_, n) => `cel.bind(v${n}, ${n === 0 ? '[1]' : `[${`v${n - 1},`.repeat(4).slice(0, -1)}]`}, `,
  ).join('') +
  body +
  ')'.repeat(60)

/** Two equal texts that are not one in memory. */
const twice = (condition: string) =>
  `cel.bind(a, string(vars.long) + 'x', cel.bind(b, string(vars.long) + 'x', ${condition}))`

const READS = [
  ...['req.cookies', 'req.url.query_params', "getQueryParam('a')", 'req.headers', "getReqHeader('cookie')"],
  ...['req.content_type.parameters', 'req.content_encoding', 'res.cookies', 'req.url', 'req.url.path'],
  ...['req.user_agent', 'req.user_agent.name', 'req.user_agent.os', 'time.now', "req.cookies['a']"],
].map((value) => repeated(`size(${value}) > 0`))

const CONDITIONS = [
  ...["hasReqCookie('a')", "hasReqHeader('cookie')", "hasResCookie('a')", "getReqCookie('a').value == 'b'"],
  ...["hasQueryParam('a')", '!req.user_agent.is_bot', '!req.user_agent.is_tablet', "req.url != 'x'"],
  ...['vars.list.exists(i, v, true)', 'req.headers.exists(k, v, true)', 'req.headers.exists(k, true)'],
  ...["'%.100f'.format([1.0e-300 * double(x)]) != ''", 'rand.int(0, 5) >= 0', '1 / 0 == x || true'],
  ...["url.parse('http://a/' + string(x)).path != ''", 'size(json.encode(vars.list)) > 0'],
  "url.parse('http://a/?' + string(vars.long).substring(0, 8000)).query_params.size() > 0",
  "timestamp('2020-01-01T00:00:00Z').getHours('Europe/Berlin') >= 0",
  'size([{0: vars.list}].transformMapEntry(i, v, {i: v})) > 0',
].map(repeated)

const METHODS = [
  ...['trim()', 'reverse()', 'lowerAscii()', 'upperAscii()', 'upper()', 'encodeBase64()', 'escapeUrl()'],
  ...['xxhash64()', 'size()', 'charAt(5)', "indexOf('b')", 'substring(3)', "replace('', 'c')", "split('')"],
  ...['split()', "contains('aaab')", 'isJson()', 'isURL()', 'isQueryString()'],
].flatMap((method) =>
  ['long', 'faces', 'controls'].map((name) => repeated(`size([string(vars.${name}).${method}]) > 0`)),
)

const EXPRESSIONS = [
  ...READS,
  ...CONDITIONS,
  ...METHODS,
  ...['a == b', 'a.startsWith(b)', 'a in [b]', '[a].distinct() == [b]'].map((one) => twice(repeated(one))),
  twice(`cel.bind(m, {b: 1}, ${repeated('a in m && m[a] == 1')})`),
  twice('size(lists.range(20000).map(x, x % 2 == 0 ? a : b).distinct()) == 1'),
  nested('size(json.encode(v59)) > 0'),
  nested("size('%s'.format([v59])) > 0"),
  nested('v59 == [v58, v58, v58, v58]'),
]

test('whatever an expression reads or calls in a loop, it ends within the budget', async () => {
  for (const source of EXPRESSIONS) {
    const compilation = compile(source, environments.on_http_response)
    assert.ok(compilation.ok, `${source}: ${compilation.ok ? '' : compilation.errors[0]!.message}`)
    const ms = await measureThreadCpu(() => {
      try {
        compilation.program.evaluate(activation())
      } catch (error) {
        assert.ok(error instanceof CostExceeded || error instanceof EvaluationError, String(error))
      }
    })
    assert.ok(ms < MAX_CPU_MS, `${source}: ${ms} ms`)
  }
})

test('expressions of one activation share its budget', () => {
  const compilation = compile('lists.range(1000).all(x, x >= 0)', environments.on_http_request)
  assert.ok(compilation.ok)
  const shared = activation()

  let evaluations = 0
  assert.throws(() => {
    for (; evaluations < 1000; evaluations++) compilation.program.evaluate(shared)
  }, CostExceeded)

  assert.ok(evaluations > 5 && evaluations < 50, String(evaluations))
})

test('20 rules of the usual kind take a fiftieth of the budget', () => {
  const usual = activation()
  const budget = new Budget(UNITS / 50)
  const sources = [
    ...["req.method == 'GET'", "req.url.path.startsWith('/admin')", "conn.client_ip in ['10.0.0.1']"],
    ...["req.headers['cookie'][0] != ''", "req.url.contains('x')"],
  ]

  for (let rule = 0; rule < 20; rule++) {
    const compilation = compile(sources[rule % sources.length]!, environments.on_http_request)
    assert.ok(compilation.ok)
    compilation.program.evaluate({ ...usual, budget, req: { ...usual.req!, target: '/a/b?c=d' } })
  }
})

test('a text that becomes longer than its field allows fails before it is built', () => {
  const template = compileTemplate('${vars.long}${vars.long}', environments.on_http_request, 256 * 1024)

  assert.throws(() => template.evaluate(activation()), /longer than the 262144 characters/)
})

test('texts made of texts end when the budget is spent, and not when memory is', () => {
  const template = compileTemplate('${vars.a}${vars.a}', environments.on_http_request, 256 * 1024)
  const usual = activation()
  usual.vars.set('a', 'x'.repeat(100_000))

  let texts = 0
  assert.throws(() => {
    for (; texts < 1000; texts++) template.evaluate(usual)
  }, CostExceeded)

  assert.ok(texts < 20, String(texts))
})

test('a list that holds others many times is charged before it becomes a text', () => {
  const template = compileTemplate(`\${${nested('v59')}}`, environments.on_http_request, 256 * 1024)

  assert.throws(() => template.evaluate(activation()), CostExceeded)
})
