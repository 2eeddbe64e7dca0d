import { existsSync, readFileSync, rmSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { isMap, isNode, isScalar, type Pair, type YAMLMap } from 'yaml'
import { describeFileError } from '../../base/text/file-error.ts'
import {
  appendEntry,
  applyEdits,
  type Edit,
  endOf,
  formatInline,
  indentOf,
  lineEnding,
  pairOf,
  prependEntry,
  rangeOf,
  renameKey,
  replaceValue,
} from './edit.ts'
import { ConfigError } from './error.ts'
import { type ConfigFile, parseConfig, parseYaml } from './file.ts'
import { RENAMED_KEYS } from './keys.ts'
import { writePrivateFile } from './write.ts'

/** The result of an upgrade: the new text, and where the backup is. */
export interface UpgradeResult {
  content: string
  path: string
  backup: string | undefined
}

/** Upgrades a file to version 2 or 3, preserving its text; the previous file stays beside it as a backup. */
export function upgradeConfig(
  path: string,
  options: { to: 2 | 3; dryRun: boolean; relocateTo: string | undefined },
): UpgradeResult {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError([`cannot read the configuration file ${path}: ${describeFileError(error)}`])
  }
  const from = readVersion(path, source)
  if (from > options.to) {
    throw new ConfigError([`${path} is version ${from}; it cannot be downgraded to version ${options.to}`])
  }
  const content = upgradeText(path, source, from, options.to)
  const target = options.relocateTo ?? path
  if (options.dryRun) return { content, path: target, backup: undefined }

  if (target !== path && existsSync(target))
    throw new ConfigError([`${target} already exists; nothing was moved`])
  const backup = from < options.to ? `${target}.v${from}.bak` : undefined
  writePrivateFile(target, content)
  if (backup) writePrivateFile(backup, source)
  if (target !== path) rmSync(path)
  return { content, path: target, backup }
}

function upgradeText(path: string, source: string, from: number, to: 2 | 3): string {
  // Up to here line numbers match the user's file, so that errors name the right line.
  let text = from < 2 ? renameForVersion2(path, source) : source
  const original = parseConfig(path, text)
  if (original.definitionProblems.length > 0)
    throw new ConfigError(original.definitionProblems.map(({ message }) => message))
  if (from < 2 && to === 2) text = toVersion2(path, text)
  if (from < 3 && to === 3) text = toVersion3(path, text)
  if (from < to && !isEquivalent(original, path, text)) {
    throw new ConfigError([
      `${path} cannot be upgraded safely because of how it is written; nothing was changed. Edit it by hand`,
    ])
  }
  return text
}

/** The root map of a file; undefined when the file is empty. */
function rootOf(path: string, source: string): YAMLMap | undefined {
  const { contents } = parseYaml(path, source).document
  if (isMap(contents)) return contents
  if (contents === null || (isScalar(contents) && contents.value === null)) return undefined
  throw new ConfigError([`${path} must be a map of keys; nothing was changed`])
}

function readVersion(path: string, source: string): number {
  const version = rootOf(path, source)?.get('version') ?? 1
  return Number(String(version))
}

/** Applies the renames of version 2, line by line. */
function renameForVersion2(path: string, source: string): string {
  const root = rootOf(path, source)
  if (!root) return source
  const edits = [
    ...setValue(source, root, 'version', '"2"'),
    ...renameKey(root, 'update', 'update_check'),
    ...renameKey(root, 'http_proxy', 'proxy_url'),
    ...renameKey(root, 'socks5_proxy', 'proxy_url'),
  ]
  for (const tunnel of tunnelsOf(root)) {
    const tls = pairOf(tunnel, 'bind_tls')
    if (tls) {
      edits.push(...setValue(source, tunnel, 'bind_tls', toSchemes(tls.value)))
      edits.push(...renameKey(tunnel, 'bind_tls', 'schemes'))
    }
    const auth = pairOf(tunnel, 'auth')
    if (auth && isNode(auth.value)) {
      edits.push(...setValue(source, tunnel, 'auth', `[${formatInline(source, auth.value)}]`))
      edits.push(...renameKey(tunnel, 'auth', 'basic_auth'))
    }
  }
  return applyEdits(source, edits)
}

function setValue(source: string, map: YAMLMap, key: string, text: string): Edit[] {
  const pair = pairOf(map, key)
  const edit = pair && replaceValue(source, pair, text)
  return edit ? [edit] : []
}

function toSchemes(bindTls: unknown): string {
  const word = isScalar(bindTls) ? String(bindTls.value) : ''
  if (word === 'both') return '[http, https]'
  return word === 'false' ? '[http]' : '[https]'
}

function tunnelsOf(root: YAMLMap): YAMLMap[] {
  const tunnels = root.get('tunnels')
  if (!isMap(tunnels)) return []
  return tunnels.items.map(({ value }) => value).filter((value) => isMap(value))
}

function toVersion2(path: string, source: string): string {
  const root = rootOf(path, source)
  if (!root || root.items.length === 0) return `${ensureLineEnd(source)}version: "2"\nregion: us\n`
  const edits: Edit[] = []
  if (!pairOf(root, 'version')) edits.push(prependEntry(source, root, 'version: "2"'))
  if (!pairOf(root, 'region')) edits.push(appendEntry(source, root, 'region: us'))
  return applyEdits(source, edits)
}

/** Moves the agent keys under `agent:`, with their comments. */
function toVersion3(path: string, source: string): string {
  const root = rootOf(path, source)
  if (!root || root.items.length === 0) return `${ensureLineEnd(source)}version: "3"\n`
  const edits = [
    ...setValue(source, root, 'version', '"3"'),
    ...Object.entries(RENAMED_KEYS).flatMap(([from, to]) => renameKey(root, from, to)),
  ]
  const segments = splitEntries(source, root, edits)
  const findSegments = (name: string) => segments.entries.filter((each) => each.name === name)
  const agent = segments.entries.filter(({ name }) => !['version', 'tunnels', 'region'].includes(name))
  const version = findSegments('version')[0]?.text
  if (root.flow) {
    const agentBlock = agent.length > 0 ? [`agent: {${agent.map(({ text }) => text).join(', ')}}`] : []
    const all = [version ?? 'version: "3"', ...agentBlock, ...findSegments('tunnels').map(({ text }) => text)]
    return `${segments.before}{${all.join(', ')}}${segments.after}`
  }
  const newline = lineEnding(source)
  const indent = indentOf(source, root)
  const agentBlock = agent.map(({ text }) => text.replace(/^(?=[^\r\n])/gm, indent)).join('')
  return [
    segments.before,
    version ?? `version: "3"${newline}`,
    agentBlock === '' ? '' : `agent:${newline}${agentBlock}`,
    ...findSegments('tunnels').map(({ text }) => text),
    segments.after,
  ].join('')
}

interface Segments {
  before: string
  entries: { name: string; text: string }[]
  after: string
}

/** Splits a text into the entries of its map; comment lines right above a key belong to its entry. */
function splitEntries(source: string, root: YAMLMap, edits: readonly Edit[]): Segments {
  const { start, end } = rangeOf(root)
  const editedSlice = (from: number, to: number) =>
    applyEdits(
      source.slice(from, to),
      edits
        .filter((edit) => edit.start >= from && edit.end <= to)
        .map((edit) => ({ ...edit, start: edit.start - from, end: edit.end - from })),
    )
  const pairs = root.items as Pair[]
  const nameOf = ({ key }: Pair) => (isScalar(key) ? String(key.value) : '')
  if (root.flow) {
    return {
      before: source.slice(0, start),
      entries: pairs.map((pair) => ({
        name: nameOf(pair),
        text: editedSlice(rangeOf(pair.key).start, endOf(pair)),
      })),
      after: source.slice(end),
    }
  }
  const starts = pairs.map((pair, index) =>
    index === 0
      ? rangeOf(pair.key).start
      : findEntryStart(source, rangeOf(pair.key).start, endOf(pairs[index - 1]!)),
  )
  return {
    before: source.slice(0, starts[0]),
    entries: pairs.map((pair, index) => ({
      name: nameOf(pair),
      text: ensureLineEnd(editedSlice(starts[index]!, starts[index + 1] ?? end)),
    })),
    after: source.slice(end),
  }
}

/** The start of an entry: its key, or the first comment line right above it. */
function findEntryStart(source: string, key: number, minStart: number): number {
  let start = source.lastIndexOf('\n', key - 1) + 1
  for (;;) {
    const previousLine = source.lastIndexOf('\n', start - 2) + 1
    if (start === 0 || previousLine < minStart || source[previousLine] !== '#') return start
    start = previousLine
  }
}

function ensureLineEnd(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}${lineEnding(text)}`
}

/** True when the agent would parse the new text to the same configuration. */
function isEquivalent(original: ConfigFile, path: string, text: string): boolean {
  try {
    const upgraded = parseConfig(path, text)
    return isDeepStrictEqual(normalize(original), normalize(upgraded))
  } catch (error) {
    if (error instanceof ConfigError) return false
    throw error
  }
}

function normalize(file: ConfigFile): object {
  if (file.version === 3) return { agent: file.values.agent ?? {}, tunnels: file.values.tunnels }
  const { version: _, region: __, tunnels, server_addr, root_cas, ...agent } = file.values
  return {
    agent: {
      ...agent,
      ...(server_addr === undefined ? {} : { connect_url: server_addr }),
      ...(root_cas === undefined ? {} : { connect_cas: root_cas }),
    },
    tunnels,
  }
}
