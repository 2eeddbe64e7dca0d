import { existsSync, statSync } from 'node:fs'
import type { EndpointDefinition, TunnelDefinition } from './definitions.ts'
import { ConfigError } from './error.ts'
import { type ConfigFile, readConfigFile } from './file.ts'
import { type AgentKeys, agentKeys, RENAMED_KEYS } from './keys.ts'
import { defaultConfigPath, type Env } from './paths.ts'
import { type ConfigProblem, isRecord, object, type Path, type ShapeOutput } from './shape.ts'

/** The whole configuration: files merged, environment applied. Commands apply flags on top. */
export interface Config {
  agent: AgentKeys
  tunnels: Map<string, TunnelDefinition>
  endpoints: EndpointDefinition[]
  /** Problems of single definitions; the path begins with the section and the name or index, the message with the line. */
  definitionProblems: ConfigProblem[]
  /** The files read, in order. */
  files: string[]
  /** The version of the last file, which the session reports; undefined without files. */
  version: 2 | 3 | undefined
  warnings: string[]
  /** Describes where a value is set: a file and its line, or a variable. `agent` keys go by their version 3 names. */
  describeSource(path: Path): string
}

/** Reads the named files (or the default one if it exists), merges them and applies `ADIT_*` variables. */
export function loadConfig(paths: readonly string[], env: Env): Config {
  const files = (paths.length > 0 ? paths : ifPresent(defaultConfigPath(env))).map(readConfigFile)
  const variables = readEnvironment(env)
  const config: Config = {
    agent: {},
    tunnels: new Map(),
    endpoints: [],
    definitionProblems: [],
    files: [],
    version: undefined,
    warnings: [],
    describeSource: (path) => describeVariable(variables, path) ?? describeFileLine(files, path),
  }
  for (const file of files) mergeFile(config, file)
  Object.assign(config.agent, variables)
  return config
}

function describeVariable(variables: AgentKeys, [section, key]: Path): string | undefined {
  const isSet = section === 'agent' && key !== undefined && Object.hasOwn(variables, key)
  return isSet ? `environment variable ADIT_${String(key).toUpperCase()}` : undefined
}

/** The last file that contains the path; if none does, the longest prefix that one contains. */
function describeFileLine(files: readonly ConfigFile[], path: Path): string {
  for (let length = path.length; length > 0; length--) {
    for (const file of files.toReversed()) {
      const line = file.lineOf(toFileKeyPath(file, path.slice(0, length)))
      if (line !== undefined) return `${file.path} line ${line}`
    }
  }
  return files.at(-1)?.path ?? 'the configuration'
}

function toFileKeyPath({ version }: ConfigFile, path: Path): Path {
  if (version === 3 || path[0] !== 'agent') return path
  const [, key, ...rest] = path
  const oldName = Object.entries(RENAMED_KEYS).find(([, renamed]) => renamed === key)?.[0]
  return key === undefined ? [] : [oldName ?? key, ...rest]
}

function ifPresent(path: string): string[] {
  return existsSync(path) ? [path] : []
}

function mergeFile(config: Config, file: ConfigFile): void {
  config.files.push(file.path)
  config.version = file.version
  config.warnings.push(...file.warnings)
  if (file.version === 3) {
    Object.assign(config.agent, file.values.agent)
    if (file.values.endpoints) {
      config.endpoints = file.values.endpoints
      config.definitionProblems = config.definitionProblems.filter(({ path }) => path[0] !== 'endpoints')
    }
  } else {
    const { version: _, tunnels: __, region, server_addr, root_cas, ...agent } = file.values
    Object.assign(config.agent, agent)
    if (server_addr !== undefined) config.agent[RENAMED_KEYS.server_addr] = server_addr
    if (root_cas !== undefined) config.agent[RENAMED_KEYS.root_cas] = root_cas
    if (region !== undefined) {
      config.warnings.push(
        `${file.path}: "region" has no effect; the server the agent connects to decides the region`,
      )
    }
  }
  config.definitionProblems.push(...file.definitionProblems)
  for (const [name, tunnel] of file.values.tunnels ?? []) {
    config.tunnels.set(name, merge(config.tunnels.get(name) ?? {}, tunnel) as TunnelDefinition)
  }
  if (holdsSecret(file) && isReadableByOthers(file.path)) {
    config.warnings.push(
      `${file.path} contains a secret and is readable by others; run: chmod 600 ${file.path}`,
    )
  }
}

/** Later files override key by key; lists are replaced as a whole. */
function merge(base: object, overrides: object): object {
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(overrides)) {
    const existing = merged[key]
    merged[key] = isRecord(value) && isRecord(existing) ? merge(existing, value) : value
  }
  return merged
}

function holdsSecret({ version, values }: ConfigFile): boolean {
  const agent = version === 3 ? values.agent : values
  return agent?.authtoken !== undefined || agent?.api_key !== undefined
}

function isReadableByOthers(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0
}

/** Keys whose variable is a comma-separated list. */
const LIST_KEYS = new Set(['dns_resolver_ips', 'inspect_redact', 'web_allow_hosts'])

function readEnvironment(env: Env): AgentKeys {
  const values: Record<string, unknown> = {}
  for (const key of Object.keys(agentKeys)) {
    const value = env[`ADIT_${key.toUpperCase()}`]
    if (value) values[key] = LIST_KEYS.has(key) ? value.split(',').map((item) => item.trim()) : value
  }
  if (!values.connect_cas && env.ADIT_ROOT_CAS) values.connect_cas = env.ADIT_ROOT_CAS
  const problems: ConfigProblem[] = []
  const shape = object(agentKeys)
  const parsed: ShapeOutput<typeof shape> = shape.read(values, [], problems) ?? {}
  if (problems.length > 0) {
    throw new ConfigError(
      problems.map(
        ({ path, message }) => `environment variable ADIT_${String(path[0]).toUpperCase()}: ${message}`,
      ),
    )
  }
  return parsed
}
