import { existsSync, readFileSync, rmSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { isMap, isNode, isScalar, type Pair, type YAMLMap } from 'yaml'
import {
  addFirst,
  addLast,
  applyEdits,
  type Edit,
  endOf,
  extentOf,
  indentOf,
  inlineText,
  lineEnd,
  pairOf,
  renameKey,
  replaceValue,
} from './edit.ts'
import { ConfigError } from './error.ts'
import { type ConfigFile, parseConfig, parseYaml, reason } from './file.ts'
import { RENAMED } from './keys.ts'
import { writePrivately } from './write.ts'

/** What an upgrade did: the text as it now is, and where the former text was kept. */
export interface Upgrade {
  content: string
  path: string
  backup: string | undefined
}

/** Brings a file to version 2 or 3, keeping its text as it was written; the former file stays beside it as a backup. */
export function upgradeConfig(
  path: string,
  options: { to: 2 | 3; dryRun: boolean; relocateTo: string | undefined },
): Upgrade {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError([`cannot read the configuration file ${path}: ${reason(error)}`])
  }
  const from = versionOf(path, source)
  if (from > options.to) {
    throw new ConfigError([`${path} is version ${from}; it cannot be taken back to version ${options.to}`])
  }
  const content = upgraded(path, source, from, options.to)
  const target = options.relocateTo ?? path
  if (options.dryRun) return { content, path: target, backup: undefined }

  if (target !== path && existsSync(target))
    throw new ConfigError([`${target} exists already; nothing was moved`])
  const backup = from < options.to ? `${target}.v${from}.bak` : undefined
  writePrivately(target, content)
  if (backup) writePrivately(backup, source)
  if (target !== path) rmSync(path)
  return { content, path: target, backup }
}

function upgraded(path: string, source: string, from: number, to: 2 | 3): string {
  // Up to here every line stands where the user wrote it, so that errors name the right one.
  let text = from < 2 ? withNamesOfVersion2(path, source) : source
  const before = parseConfig(path, text)
  if (from < 2 && to === 2) text = asVersion2(path, text)
  if (from < 3 && to === 3) text = asVersion3(path, text)
  if (from < to && !saysTheSame(before, path, text)) {
    throw new ConfigError([
      `${path} is written in a way that cannot be upgraded safely; nothing was changed. Write it anew by hand`,
    ])
  }
  return text
}

/** The map of a file; undefined when there is nothing in it. */
function rootOf(path: string, source: string): YAMLMap | undefined {
  const { contents } = parseYaml(path, source).document
  if (isMap(contents)) return contents
  if (contents === null || (isScalar(contents) && contents.value === null)) return undefined
  throw new ConfigError([`${path} must be a map of keys; nothing was changed`])
}

function versionOf(path: string, source: string): number {
  const version = rootOf(path, source)?.get('version') ?? 1
  return Number(String(version))
}

/** What was renamed in version 2, line by line. */
function withNamesOfVersion2(path: string, source: string): string {
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
      edits.push(...setValue(source, tunnel, 'bind_tls', schemesOf(tls.value)))
      edits.push(...renameKey(tunnel, 'bind_tls', 'schemes'))
    }
    const auth = pairOf(tunnel, 'auth')
    if (auth && isNode(auth.value)) {
      edits.push(...setValue(source, tunnel, 'auth', `[${inlineText(source, auth.value)}]`))
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

function schemesOf(bindTls: unknown): string {
  const word = isScalar(bindTls) ? String(bindTls.value) : ''
  if (word === 'both') return '[http, https]'
  return word === 'false' ? '[http]' : '[https]'
}

function tunnelsOf(root: YAMLMap): YAMLMap[] {
  const tunnels = root.get('tunnels')
  if (!isMap(tunnels)) return []
  return tunnels.items.map(({ value }) => value).filter((value) => isMap(value))
}

function asVersion2(path: string, source: string): string {
  const root = rootOf(path, source)
  if (!root || root.items.length === 0) return `${onItsOwnLine(source)}version: "2"\nregion: us\n`
  const edits: Edit[] = []
  if (!pairOf(root, 'version')) edits.push(addFirst(source, root, 'version: "2"'))
  if (!pairOf(root, 'region')) edits.push(addLast(source, root, 'region: us'))
  return applyEdits(source, edits)
}

/** Moves the keys of the agent under `agent:`, with the comments above and behind them. */
function asVersion3(path: string, source: string): string {
  const root = rootOf(path, source)
  if (!root || root.items.length === 0) return `${onItsOwnLine(source)}version: "3"\n`
  const edits = [
    ...setValue(source, root, 'version', '"3"'),
    ...Object.entries(RENAMED).flatMap(([before, after]) => renameKey(root, before, after)),
  ]
  const pieces = piecesOf(source, root, edits)
  const piece = (name: string) => pieces.entries.filter((each) => each.name === name)
  const agent = pieces.entries.filter(({ name }) => !['version', 'tunnels', 'region'].includes(name))
  const version = piece('version')[0]?.text
  if (root.flow) {
    const inside = agent.length > 0 ? [`agent: {${agent.map(({ text }) => text).join(', ')}}`] : []
    const all = [version ?? 'version: "3"', ...inside, ...piece('tunnels').map(({ text }) => text)]
    return `${pieces.before}{${all.join(', ')}}${pieces.after}`
  }
  const newline = lineEnd(source)
  const indent = indentOf(source, root)
  const inside = agent.map(({ text }) => text.replace(/^(?=[^\r\n])/gm, indent)).join('')
  return [
    pieces.before,
    version ?? `version: "3"${newline}`,
    inside === '' ? '' : `agent:${newline}${inside}`,
    ...piece('tunnels').map(({ text }) => text),
    pieces.after,
  ].join('')
}

interface Pieces {
  before: string
  entries: { name: string; text: string }[]
  after: string
}

/** Cuts a text into the entries of its map; lines of comment right above a key go with it. */
function piecesOf(source: string, root: YAMLMap, edits: readonly Edit[]): Pieces {
  const { start, end } = extentOf(root)
  const between = (from: number, to: number) =>
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
        text: between(extentOf(pair.key).start, endOf(pair)),
      })),
      after: source.slice(end),
    }
  }
  const starts = pairs.map((pair, index) =>
    index === 0
      ? extentOf(pair.key).start
      : beginOf(source, extentOf(pair.key).start, endOf(pairs[index - 1]!)),
  )
  return {
    before: source.slice(0, starts[0]),
    entries: pairs.map((pair, index) => ({
      name: nameOf(pair),
      text: onItsOwnLine(between(starts[index]!, starts[index + 1] ?? end)),
    })),
    after: source.slice(end),
  }
}

/** Where an entry begins: its key, or the first of the comments right above it. */
function beginOf(source: string, key: number, least: number): number {
  let begin = source.lastIndexOf('\n', key - 1) + 1
  for (;;) {
    const above = source.lastIndexOf('\n', begin - 2) + 1
    if (begin === 0 || above < least || source[above] !== '#') return begin
    begin = above
  }
}

function onItsOwnLine(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}${lineEnd(text)}`
}

/** True when the agent would read the same out of the new text. */
function saysTheSame(before: ConfigFile, path: string, text: string): boolean {
  try {
    const after = parseConfig(path, text)
    return isDeepStrictEqual(meaningOf(before), meaningOf(after))
  } catch (error) {
    if (error instanceof ConfigError) return false
    throw error
  }
}

function meaningOf(file: ConfigFile): object {
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
