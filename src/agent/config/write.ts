import { chmodSync, existsSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Document, isMap, isScalar, type YAMLMap } from 'yaml'
import { createDirectory } from '../../base/process/create-directory.ts'
import { describeFileError } from '../../base/text/file-error.ts'
import {
  appendEntry,
  applyEdits,
  type Edit,
  formatScalar,
  indentOf,
  lineEnding,
  pairOf,
  prependEntry,
  replaceValue,
} from './edit.ts'
import { ConfigError } from './error.ts'
import { parseYaml, toContent } from './file.ts'
import type { AgentKeys } from './keys.ts'
import { isRecord } from './shape.ts'

/** The keys that `adit config add-…` writes, with their version 2 names. */
const WRITABLE_KEYS = {
  authtoken: 'authtoken',
  api_key: 'api_key',
  connect_url: 'server_addr',
  update_url: 'update_url',
  update_key: 'update_key',
} as const

export type WritableKey = keyof typeof WRITABLE_KEYS & keyof AgentKeys

/** Sets one key of a configuration file and preserves every other character. */
export function saveKey(path: string, key: WritableKey, value: string): void {
  writePrivateFile(path, withKey(path, readIfPresent(path), key, value))
}

function readIfPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new ConfigError([`cannot read the configuration file ${path}: ${describeFileError(error)}`])
  }
}

function withKey(path: string, source: string, key: WritableKey, value: string): string {
  const { document } = parseYaml(path, source)
  const root = document.contents
  if (root === null || (isScalar(root) && root.value === null)) {
    const prefix = source === '' || source.endsWith('\n') ? source : `${source}\n`
    return `${prefix}version: "3"\nagent:\n  ${key}: ${formatScalar(value)}\n`
  }
  if (!isMap(root)) throw new ConfigError([`${path} must be a map of keys; nothing was written`])

  const version = document.get('version')
  const edits = version === undefined || version === null ? setVersion(source, root) : []
  const keyPath = String(version) === '3' ? ['agent', key] : [WRITABLE_KEYS[key]]
  const keyEdit =
    keyPath.length === 2 ? setInAgent(source, root, key, value) : setIn(source, root, keyPath[0]!, value)
  const content = keyEdit && applyEdits(source, [...edits, keyEdit])
  if (content === undefined || !changesOnly(path, document, content, keyPath, value)) {
    throw new ConfigError([
      `${path} cannot be changed safely because of how it is written; nothing was changed. Set ${keyPath.join('.')} by hand`,
    ])
  }
  return content
}

function setVersion(source: string, root: YAMLMap): Edit[] {
  const pair = pairOf(root, 'version')
  const edit = pair ? replaceValue(source, pair, '"2"') : prependEntry(source, root, 'version: "2"')
  return edit ? [edit] : []
}

function setInAgent(source: string, root: YAMLMap, key: string, value: string): Edit | undefined {
  const pair = pairOf(root, 'agent')
  if (pair && isMap(pair.value)) return setIn(source, pair.value, key, value)
  const block = `${lineEnding(source)}${indentOf(source, root)}${key}: ${formatScalar(value)}`
  const flowMap = `{ ${key}: ${formatScalar(value)} }`
  if (!pair) return appendEntry(source, root, `agent:${root.flow ? ` ${flowMap}` : block}`)
  const empty = isScalar(pair.value) && pair.value.value === null
  return empty ? replaceValue(source, pair, flowMap) : undefined
}

function setIn(source: string, map: YAMLMap, key: string, value: string): Edit | undefined {
  const pair = pairOf(map, key)
  if (pair) return replaceValue(source, pair, formatScalar(value))
  return appendEntry(source, map, `${key}: ${formatScalar(value)}`)
}

/** True when only the key and the version differ from the previous text. */
function changesOnly(
  path: string,
  original: Document,
  content: string,
  keyPath: readonly string[],
  value: string,
): boolean {
  const { document: changed } = parseYaml(path, content)
  if (changed.getIn(keyPath) !== value) return false
  const [oldContent, newContent] = [original, changed].map((document) => {
    const { version: _, agent, ...rest } = toContent(path, document) as Record<string, unknown>
    const all = { agent: isRecord(agent) ? { ...agent } : (agent ?? {}), ...rest }
    delete (keyPath.length === 2 ? (all.agent as Record<string, unknown>) : (all as Record<string, unknown>))[
      keyPath.at(-1)!
    ]
    return all
  })
  return isDeepStrictEqual(oldContent, newContent)
}

/** Writes a file atomically with mode 0600, following a symbolic link to its target. */
export function writePrivateFile(path: string, content: string): void {
  const target = existsSync(path) ? realpathSync(path) : path
  const draft = join(dirname(target), `.${basename(target)}.${process.pid}.tmp`)
  try {
    createDirectory(dirname(target), 0o700)
    writeFileSync(draft, content, { mode: 0o600 })
    chmodSync(draft, 0o600)
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { force: true })
    throw new ConfigError([`cannot write ${path}: ${describeFileError(error)}`])
  }
}
