import { existsSync, readFileSync, rmSync } from 'node:fs'
import { type Document, isMap, isScalar, Pair, Scalar, YAMLMap } from 'yaml'
import { ConfigError } from './error.ts'
import { parseConfig, parseYaml, reason } from './file.ts'
import { RENAMED } from './keys.ts'
import { writePrivately } from './write.ts'

/** What an upgrade did: the text as it now is, and where the former text was kept. */
export interface Upgrade {
  content: string
  path: string
  backup: string | undefined
}

/** Brings a file to version 2 or 3, keeping comments; the former file stays beside it as a backup. */
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
  const { document } = parseYaml(path, source)
  if (document.contents === null) document.contents = document.createNode({})
  if (!isMap(document.contents)) throw new ConfigError([`${path} must be a map of keys; nothing was changed`])

  const from = Number(document.get('version') ?? 1)
  if (from > options.to) {
    throw new ConfigError([`${path} is version ${from}; it cannot be taken back to version ${options.to}`])
  }
  if (from < 2) toVersion2(document, document.contents as YAMLMap, options.to)
  if (from < 3 && options.to === 3) toVersion3(document, document.contents as YAMLMap)

  const content = document.toString({ lineWidth: 0 })
  parseConfig(path, content) // What the agent could not read must not replace what it could.
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

function toVersion2(document: Document, root: YAMLMap, to: 2 | 3): void {
  if (to === 2 && !root.has('region')) root.set('region', 'us')
  rename(root, 'update', 'update_check')
  rename(root, 'http_proxy', 'proxy_url')
  rename(root, 'socks5_proxy', 'proxy_url')
  for (const tunnel of tunnelsOf(root)) {
    const tls = tunnel.get('bind_tls')
    if (tls !== undefined) {
      rename(tunnel, 'bind_tls', 'schemes')
      tunnel.set('schemes', document.createNode(schemesOf(tls)))
    }
    if (tunnel.has('auth')) {
      const credentials = tunnel.get('auth')
      rename(tunnel, 'auth', 'basic_auth')
      tunnel.set('basic_auth', document.createNode([String(credentials)]))
    }
  }
  setVersion(root, '2')
}

function schemesOf(bindTls: unknown): string[] {
  if (String(bindTls) === 'both') return ['http', 'https']
  return String(bindTls) === 'false' ? ['http'] : ['https']
}

function toVersion3(document: Document, root: YAMLMap): void {
  root.delete('region')
  for (const [before, after] of Object.entries(RENAMED)) rename(root, before, after)
  const agent = new YAMLMap(document.schema)
  const stay = new Set(['version', 'tunnels'])
  const kept: Pair[] = []
  for (const pair of root.items as Pair[]) {
    if (isScalar(pair.key) && stay.has(String(pair.key.value))) kept.push(pair)
    else agent.items.push(pair)
  }
  root.items = kept
  setVersion(root, '3')
  if (agent.items.length > 0) root.items.splice(1, 0, document.createPair('agent', agent))
}

function setVersion(root: YAMLMap, version: string): void {
  const value = new Scalar(version)
  value.type = 'QUOTE_DOUBLE'
  const others = root.items.filter(({ key }) => !(isScalar(key) && key.value === 'version'))
  root.items = [new Pair(new Scalar('version'), value), ...others]
}

function rename(map: YAMLMap, before: string, after: string): void {
  const pair = map.items.find(({ key }) => isScalar(key) && key.value === before)
  if (pair && isScalar(pair.key)) pair.key.value = after
}

function tunnelsOf(root: YAMLMap): YAMLMap[] {
  const tunnels = root.get('tunnels')
  if (!isMap(tunnels)) return []
  return tunnels.items.map(({ value }) => value).filter((value) => isMap(value))
}
