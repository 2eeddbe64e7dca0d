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
import { type Document, isMap } from 'yaml'
import { ConfigError } from './error.ts'
import { parseYaml, reason } from './file.ts'
import type { AgentKeys } from './keys.ts'

/** The keys `adit config add-…` writes, and what version 2 calls them. */
const WRITABLE = { authtoken: 'authtoken', api_key: 'api_key', connect_url: 'server_addr' } as const

/** Sets one key of a configuration file and leaves everything else, comments included, as it was. */
export function saveKey(path: string, key: keyof typeof WRITABLE & keyof AgentKeys, value: string): void {
  const { document } = parseYaml(path, existsSync(path) ? readFileSync(path, 'utf8') : '')
  if (document.contents === null) document.contents = document.createNode({ version: '3', agent: {} })
  if (!isMap(document.contents)) throw new ConfigError([`${path} must be a map of keys; nothing was written`])

  const version = document.get('version')
  if (version === undefined || version === null) document.set('version', '2')
  if (String(version) === '3') {
    if (!isMap(document.get('agent', true))) document.set('agent', document.createNode({}))
    document.setIn(['agent', key], value)
  } else {
    document.set(WRITABLE[key], value)
  }
  writeConfig(path, document)
}

/** Writes a document in one step, readable by its owner alone since it may hold a token. */
export function writeConfig(path: string, document: Document): void {
  writePrivately(path, document.toString({ lineWidth: 0 }))
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
