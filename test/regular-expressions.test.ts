import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { parseSync } from 'vite'
import { checkExpression } from './support/check-expression.ts'

const root = join(import.meta.dirname, '..')

/** Expressions with superlinear time, with the reason why no outsider controls their input. */
const EXEMPT: Readonly<Record<string, string>> = {
  '/\\/+$/': 'addresses that the operator configures in the server, the command line or the agent',
  '/\\.+$/': 'a name that a user types into a form, in their own browser',
  '/^( *)((?:- +)*)(?:([\\w-]+):(?: +|$))?(.*)$/':
    'one line of the policy that a user edits, in their own browser',
  '/[A-Za-z_][\\w.]*$/': 'one line of the policy that a user edits, in their own browser',
  '/ *$/': 'one line of the configuration file of the agent',
}

/** Expressions with look-ahead, which the checker cannot prove; they are measured instead. */
const MEASURED: readonly string[] = [
  '/^::ffff:(?=\\d+\\.)/i',
  '/^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/',
  '/\\.(\\d+)(?=\\.|$)/g',
]

/** Expressions built at run time, with their inputs. */
const DYNAMIC: Readonly<Record<string, string>> = {
  'src/base/pattern/linear-pattern-set.ts':
    'built from the name of a class, and matched against one character',
  'src/server/settings/settings.ts': 'built from constants, and matched against names in its own environment',
  'src/api/http/error-responses.ts':
    'built from the paths of the API: [^/]+ between slashes, anchored at both ends',
}

/**
 * Expressions whose proof takes long. The proof depends on nothing but the expression, so that only `npm run test:long`
 * repeats it; an expression that is not listed is proven here.
 */
const PROVEN = new Set<string>(
  JSON.parse(await readFile(join(import.meta.dirname, 'regular-expressions.proven.json'), 'utf8')),
)

interface Node {
  readonly type: string
  readonly start: number
  readonly regex?: { readonly pattern: string; readonly flags: string }
  readonly callee?: { readonly name?: string }
  readonly arguments?: readonly Node[]
  readonly key?: { readonly name?: string; readonly value?: unknown }
  readonly value?: unknown
}

/** Every expression as a literal, with the files that contain it. */
const expressions = new Map<string, Set<string>>()
const dynamicFiles = new Set<string>()

function add(pattern: string, flags: string, file: string): void {
  const literal = `/${pattern}/${flags}`
  expressions.set(literal, (expressions.get(literal) ?? new Set()).add(file))
}

function isText(node: unknown): node is { value: string } {
  return (node as Node | undefined)?.type === 'Literal' && typeof (node as Node).value === 'string'
}

function collect(node: Node, file: string): void {
  const { regex, callee, arguments: args = [], key, value } = node
  if (regex !== undefined) add(regex.pattern, regex.flags, file)
  if (callee?.name === 'RegExp') {
    if (isText(args[0])) add(args[0].value, '', file)
    else dynamicFiles.add(file)
  }
  // A JSON schema.
  if (node.type === 'Property' && key?.name === 'pattern' && isText(value)) add(value.value, 'u', file)
}

function walk(node: unknown, visit: (node: Node) => void): void {
  if (typeof node !== 'object' || node === null || node instanceof RegExp) return
  if ('type' in node) visit(node as Node)
  for (const child of Object.values(node)) walk(child, visit)
}

before(async () => {
  for await (const file of glob('src/**/*.{ts,tsx}', { cwd: root })) {
    if (/\.(test|contract)\.tsx?$|\/testing\//.test(file)) continue
    const { program, errors } = parseSync(file, await readFile(join(root, file), 'utf8'))
    assert.deepEqual(errors, [], file)
    walk(program, (node) => collect(node, file))
  }
  assert.ok(expressions.size > 200, 'the scan found few expressions, so it proves nothing')
})

test('every regular expression takes linear time, or no outsider controls its input', () => {
  const unproven: string[] = []
  const unlisted: string[] = []
  for (const [literal, files] of expressions) {
    if (PROVEN.has(literal)) continue
    const status = checkExpression(literal)
    if (status !== 'safe') unproven.push(literal)
    const isListed = literal in EXEMPT || MEASURED.includes(literal)
    if (status !== 'safe' && !isListed) unlisted.push(`${literal} in ${[...files].join(', ')} is ${status}`)
  }

  assert.deepEqual(unlisted, [])
  assert.deepEqual(unproven.sort(), [...Object.keys(EXEMPT), ...MEASURED].sort(), 'the lists above are true')
  assert.deepEqual([...PROVEN.difference(expressions)], [], 'expressions that are no longer in use')
})

test('expressions that cannot be proven are fast on long repetitions of their parts', () => {
  for (const literal of MEASURED) {
    const end = literal.lastIndexOf('/')
    const expression = new RegExp(literal.slice(1, end), literal.slice(end + 1))
    const parts = [...new Set(`${literal}0a1_.-x`)]
    for (const repeated of parts.flatMap((first) => parts.map((second) => first + second)))
      for (const before of ['', '0x', '::ffff:', '.', '1.', 'a'])
        for (const after of ['', '!', '.'])
          assert.ok(
            measureCpuMs(expression, before + repeated.repeat(10_000) + after) < 50,
            `${literal} with ${repeated}`,
          )
  }
})

test('all expressions built at run time are listed', () => {
  assert.deepEqual([...dynamicFiles].sort(), Object.keys(DYNAMIC).sort())
})

/** Returns the CPU milliseconds; quadratic time would take a hundred times the limit. */
function measureCpuMs(expression: RegExp, text: string): number {
  const start = process.threadCpuUsage()
  expression.lastIndex = 0
  text.replace(expression, '')
  const { user, system } = process.threadCpuUsage(start)
  return (user + system) / 1000
}
