import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Document, isMap, isScalar, type YAMLMap } from 'yaml'
import {
  addFirst,
  addLast,
  applyEdits,
  type Edit,
  indentOf,
  lineEnd,
  pairOf,
  replaceValue,
  scalarText,
} from './edit.ts'
import { ConfigError } from './error.ts'
import { contentOf, parseYaml, reason } from './file.ts'
import type { AgentKeys } from './keys.ts'
import { isRecord } from './shape.ts'

/** The keys `adit config add-…` writes, and what version 2 calls them. */
const WRITABLE = { authtoken: 'authtoken', api_key: 'api_key', connect_url: 'server_addr' } as const

type WritableKey = keyof typeof WRITABLE & keyof AgentKeys

/** Sets one key of a configuration file and leaves every other character of it as it was. */
export function saveKey(path: string, key: WritableKey, value: string): void {
  writePrivately(path, withKey(path, readWhenPresent(path), key, value))
}

function readWhenPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new ConfigError([`cannot read the configuration file ${path}: ${reason(error)}`])
  }
}

function withKey(path: string, source: string, key: WritableKey, value: string): string {
  const { document } = parseYaml(path, source)
  const root = document.contents
  if (root === null || (isScalar(root) && root.value === null)) {
    const before = source === '' || source.endsWith('\n') ? source : `${source}\n`
    return `${before}version: "3"\nagent:\n  ${key}: ${scalarText(value)}\n`
  }
  if (!isMap(root)) throw new ConfigError([`${path} must be a map of keys; nothing was written`])

  const version = document.get('version')
  const edits = version === undefined || version === null ? setVersion(source, root) : []
  const at = String(version) === '3' ? ['agent', key] : [WRITABLE[key]]
  const set = at.length === 2 ? setInAgent(source, root, key, value) : setIn(source, root, at[0]!, value)
  const content = set && applyEdits(source, [...edits, set])
  if (content === undefined || !onlyChanged(path, document, content, at, value)) {
    throw new ConfigError([
      `${path} is written in a way that cannot be changed safely; nothing was written. Set ${at.join('.')} in it by hand`,
    ])
  }
  return content
}

function setVersion(source: string, root: YAMLMap): Edit[] {
  const pair = pairOf(root, 'version')
  const edit = pair ? replaceValue(source, pair, '"2"') : addFirst(source, root, 'version: "2"')
  return edit ? [edit] : []
}

function setInAgent(source: string, root: YAMLMap, key: string, value: string): Edit | undefined {
  const pair = pairOf(root, 'agent')
  if (pair && isMap(pair.value)) return setIn(source, pair.value, key, value)
  const inner = `${lineEnd(source)}${indentOf(source, root)}${key}: ${scalarText(value)}`
  const braces = `{ ${key}: ${scalarText(value)} }`
  if (!pair) return addLast(source, root, `agent:${root.flow ? ` ${braces}` : inner}`)
  const empty = isScalar(pair.value) && pair.value.value === null
  return empty ? replaceValue(source, pair, braces) : undefined
}

function setIn(source: string, map: YAMLMap, key: string, value: string): Edit | undefined {
  const pair = pairOf(map, key)
  if (pair) return replaceValue(source, pair, scalarText(value))
  return addLast(source, map, `${key}: ${scalarText(value)}`)
}

/** True when the text now says the same as before, but for the key and the version. */
function onlyChanged(
  path: string,
  before: Document,
  content: string,
  at: readonly string[],
  value: string,
): boolean {
  const { document: after } = parseYaml(path, content)
  if (after.getIn(at) !== value) return false
  const [was, is] = [before, after].map((document) => {
    const { version: _, agent, ...rest } = contentOf(path, document) as Record<string, unknown>
    const all = { agent: isRecord(agent) ? { ...agent } : (agent ?? {}), ...rest }
    delete (at.length === 2 ? (all.agent as Record<string, unknown>) : (all as Record<string, unknown>))[
      at.at(-1)!
    ]
    return all
  })
  return isDeepStrictEqual(was, is)
}

/** Writes a file in one step with mode 0600, following a symbolic link to the file itself. */
export function writePrivately(path: string, content: string): void {
  const target = existsSync(path) ? realpathSync(path) : path
  const draft = join(dirname(target), `.${basename(target)}.${process.pid}.tmp`)
  try {
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
    writeFileSync(draft, content, { mode: 0o600 })
    chmodSync(draft, 0o600)
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { force: true })
    throw new ConfigError([`cannot write ${path}: ${reason(error)}`])
  }
}
