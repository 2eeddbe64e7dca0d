import { readFileSync } from 'node:fs'
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
} from 'yaml'
import { errorMessage } from '../../base/text/error-message.ts'
import { describeFileError } from '../../base/text/file-error.ts'
import { LINEAR_PARSING } from '../../base/text/yaml-document.ts'
import { ConfigError } from './error.ts'
import { version2, version3 } from './keys.ts'
import type { ConfigProblem, Path, ShapeOutput } from './shape.ts'
import { SourceScalar } from './source-text.ts'

/** One parsed and validated configuration file; files are merged afterwards. */
export type ConfigFile = {
  path: string
  warnings: string[]
  /** Problems of single tunnels and endpoints, which concern only commands that start them. */
  definitionProblems: ConfigProblem[]
  /** The line of a key path in this file; undefined when the file does not contain it. */
  lineOf(keyPath: Path): number | undefined
} & (
  | { version: 2; values: ShapeOutput<typeof version2> }
  | { version: 3; values: ShapeOutput<typeof version3> }
)

/** Reads one file; throws a `ConfigError` that names file, line, key and remedy. */
export function readConfigFile(path: string): ConfigFile {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new ConfigError([
      `cannot read the configuration file ${path}: ${describeFileError(error)}`,
      ...(isMissing ? [`Create it with: adit config edit --config ${path}`] : []),
    ])
  }
  return parseConfig(path, source)
}

/** Parses YAML; a syntax error is rejected with its line. */
export function parseYaml(
  path: string,
  source: string,
): { document: Document; lineOf(keyPath: Path): number | undefined } {
  const lines = new LineCounter()
  const document = parseDocument(source, {
    lineCounter: lines,
    ...LINEAR_PARSING,
    merge: true,
  })
  const [first] = document.errors
  if (first) {
    const { line } = lines.linePos(first.pos[0])
    const advice = /tab/i.test(first.message) ? '; YAML must be indented with spaces' : ''
    throw new ConfigError([
      `${path} line ${line}: ${first.message.split('\n')[0]}${advice}`,
      `Correct it with: adit config edit --config ${path}`,
    ])
  }
  preserveSource(document, (offset, reason) => {
    const { line } = lines.linePos(offset)
    throw new ConfigError([`${path} line ${line}: ${reason}`])
  })
  const pairs: PairIndex = new WeakMap()
  return { document, lineOf: (keyPath) => lineOf(document, lines, keyPath, pairs) }
}

/** Keeps the source text of scalars: YAML turns `007` and `1e3` into numbers, but a name may be meant. */
function preserveSource(document: Document, rejectKey: (offset: number, reason: string) => never): void {
  visit(document, {
    Map(_, { items }) {
      const keys = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        if (keys.has(key.value)) rejectKey(key.range?.[0] ?? 0, 'Map keys must be unique')
        keys.add(key.value)
      }
    },
    Pair(_, { key }) {
      if (isCollection(key) || isAlias(key))
        rejectKey(key.range?.[0] ?? 0, 'a key must be a string, not a map or a list')
    },
    Scalar(position, node) {
      const { value, source } = node
      if (source === undefined) return
      if (typeof value !== 'number' && typeof value !== 'bigint' && typeof value !== 'boolean') return
      node.value = position === 'key' ? source : new SourceScalar(value, source)
    },
  })
}

/** The content of a document, with aliases and merge keys resolved. */
export function toContent(path: string, document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 50 }) ?? {}
  } catch (error) {
    throw new ConfigError([`${path}: ${errorMessage(error)}`])
  }
}

/** Parses and validates a configuration file. */
export function parseConfig(path: string, source: string): ConfigFile {
  const { document, lineOf } = parseYaml(path, source)
  const content = toContent(path, document)
  const warnings: string[] = []
  const version = readVersion(document)
  if (version === undefined) {
    warnings.push(`${path} has no "version"; it is read as version 2. Add the line: version: "2"`)
  } else if (version !== '2' && version !== '3') {
    const line = lineOf(['version'])
    throw new ConfigError([
      `${path} line ${line}: version must be 2 or 3, not ${JSON.stringify(version)}`,
      version === '1'
        ? `Upgrade it to version 3 with: adit config upgrade --config ${path}`
        : `Correct it with: adit config edit --config ${path}`,
    ])
  }

  const problems: ConfigProblem[] = []
  const common = { path, warnings, lineOf, definitionProblems: [] as ConfigProblem[] }
  const file: ConfigFile =
    version === '3'
      ? { ...common, version: 3, values: version3.read(content, [], problems) ?? {} }
      : { ...common, version: 2, values: version2.read(content, [], problems) ?? {} }
  const locatedProblems = problems.map(({ path: keyPath, message }) => {
    const line = lineOf(keyPath)
    const source = line === undefined ? path : `${path} line ${line}`
    return { path: keyPath, message: `${source}: ${message}` }
  })
  file.definitionProblems = locatedProblems.filter(isDefinitionProblem)
  if (file.definitionProblems.length < locatedProblems.length)
    throw new ConfigError(locatedProblems.map(({ message }) => message))
  return file
}

/** A list item that is no map has no name, so that no command could say whether it is started. */
function isDefinitionProblem({ path }: ConfigProblem): boolean {
  return path.length >= (path[0] === 'tunnels' ? 2 : path[0] === 'endpoints' ? 3 : Number.POSITIVE_INFINITY)
}

function readVersion(document: Document): string | undefined {
  const version = isMap(document.contents) ? document.get('version') : undefined
  return version === undefined || version === null ? undefined : String(version)
}

/** The line of the last key of a path, or of its list item. */
function lineOf(document: Document, lines: LineCounter, path: Path, pairs: PairIndex): number | undefined {
  let keyNode: unknown
  let valueNode: unknown = document.contents
  for (const step of path) {
    const child = descend(document, valueNode, step, pairs)
    if (!child) return undefined
    keyNode = child.keyNode
    valueNode = child.valueNode
  }
  return isNode(keyNode) && keyNode.range ? lines.linePos(keyNode.range[0]).line : undefined
}

/** Descends one step, through aliases and merge keys; returns the key node and the value node. */
function descend(
  document: Document,
  node: unknown,
  step: string | number,
  pairs: PairIndex,
): { keyNode: unknown; valueNode: unknown } | undefined {
  if (isAlias(node)) return descend(document, node.resolve(document), step, pairs)
  if (isSeq(node)) {
    const item = node.items[Number(step)]
    return item === undefined ? undefined : { keyNode: item, valueNode: item }
  }
  if (!isMap(node)) return undefined
  const pair = pairsOf(node, pairs).get(String(step))
  if (pair) return { keyNode: pair.key, valueNode: pair.value }
  for (const { key, value } of node.items) {
    if (!isScalar(key) || typeof key.value !== 'symbol') continue
    for (const source of isSeq(value) ? value.items : [value]) {
      const child = descend(document, source, step, pairs)
      if (child) return child
    }
  }
  return undefined
}

/** The pairs of maps by their keys, once they are asked for: there may be as many mistakes as pairs. */
type PairIndex = WeakMap<YAMLMap, ReadonlyMap<string, Pair>>

function pairsOf(map: YAMLMap, index: PairIndex): ReadonlyMap<string, Pair> {
  const known = index.get(map)
  if (known !== undefined) return known
  const pairs = new Map(
    map.items.flatMap((pair) => (isScalar(pair.key) ? [[String(pair.key.value), pair]] : [])),
  )
  index.set(map, pairs)
  return pairs
}
