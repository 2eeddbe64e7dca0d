import { readFileSync } from 'node:fs'
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml'
import { ConfigError } from './error.ts'
import { version2, version3 } from './keys.ts'
import type { Path, Problem, Read } from './shape.ts'

/** One configuration file, read and checked by itself; files are merged afterwards. */
export type ConfigFile =
  | { path: string; version: 2; values: Read<typeof version2>; warnings: string[] }
  | { path: string; version: 3; values: Read<typeof version3>; warnings: string[] }

/** Reads one file; throws a `ConfigError` that names file, line, key and remedy. */
export function readConfigFile(path: string): ConfigFile {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError([`cannot read the configuration file ${path}: ${reason(error)}`])
  }
  return parseConfig(path, source)
}

/** Why a file could not be read or written, without the system call and path Node repeats. */
export function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'no such file'
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied'
  if (code === 'EISDIR') return 'it is a directory'
  return message
}

/** Parses YAML text into a document, refusing what is not YAML with its line. */
export function parseYaml(
  path: string,
  source: string,
): { document: Document; lineOf(at: Path): number | undefined } {
  const lines = new LineCounter()
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false })
  const [first] = document.errors
  if (first) {
    const { line } = lines.linePos(first.pos[0])
    const advice = /tab/i.test(first.message) ? '; YAML must be indented with spaces' : ''
    throw new ConfigError([`${path} line ${line}: ${first.message.split('\n')[0]}${advice}`])
  }
  return { document, lineOf: (at) => lineOf(document, lines, at) }
}

/** Checks the text of a configuration file. */
export function parseConfig(path: string, source: string): ConfigFile {
  const { document, lineOf } = parseYaml(path, source)
  let content: unknown
  try {
    content = document.toJS({ maxAliasCount: 50 }) ?? {}
  } catch (error) {
    throw new ConfigError([`${path}: ${(error as Error).message}`])
  }

  const warnings: string[] = []
  const version = versionOf(document)
  if (version === undefined) {
    warnings.push(`${path} has no "version"; it is read as version 2. Add the line: version: "2"`)
  } else if (version !== '2' && version !== '3') {
    const line = lineOf(['version'])
    throw new ConfigError([`${path} line ${line}: version must be 2 or 3, not ${JSON.stringify(version)}`])
  }

  const problems: Problem[] = []
  const file: ConfigFile | undefined =
    version === '3'
      ? { path, version: 3, values: version3.read(content, [], problems) ?? {}, warnings }
      : { path, version: 2, values: version2.read(content, [], problems) ?? {}, warnings }
  if (problems.length > 0) {
    throw new ConfigError(
      problems.map(({ path: at, message }) => {
        const line = lineOf(at)
        return line === undefined ? `${path}: ${message}` : `${path} line ${line}: ${message}`
      }),
    )
  }
  return file
}

function versionOf(document: Document): string | undefined {
  const version = isMap(document.contents) ? document.get('version') : undefined
  return version === undefined || version === null ? undefined : String(version)
}

/** The line of the key a path ends in, or of the list item. */
function lineOf(document: Document, lines: LineCounter, path: Path): number | undefined {
  const last = path.at(-1)
  if (last === undefined) return undefined
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true)
  if (isMap(parent)) {
    const pair = parent.items.find(({ key }) => isScalar(key) && String(key.value) === String(last))
    if (pair && isNode(pair.key) && pair.key.range) return lines.linePos(pair.key.range[0]).line
  }
  const node = document.getIn(path, true)
  return isNode(node) && node.range ? lines.linePos(node.range[0]).line : undefined
}
