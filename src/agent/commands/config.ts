import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { CommandFailure } from '../../base/process/command-line.ts'
import { describeNetworkError } from '../../base/text/network-error.ts'
import { joinHostPort } from '../../base/values/hostport.ts'
import type { FlagValues } from '../../command-line/index.ts'
import { loadConfig } from '../config/load.ts'
import { defaultConfigPath, type Env } from '../config/paths.ts'
import { upgradeConfig } from '../config/upgrade.ts'
import { saveKey, type WritableKey, writePrivateFile } from '../config/write.ts'
import { parseServerAddresses } from '../connect/location.ts'
import { resolveWebSettings } from '../settings.ts'
import { describeReload, type ReloadResult } from '../tunnels/reload.ts'
import { readUpdateKey } from '../update/manifest.ts'
import type { CheckInput } from './check.ts'
import { configPath, configPaths, createContext, readToken } from './context.ts'

type Write = (text: string) => void

/** `config add-authtoken`; `-` reads from stdin, which keeps the token out of the shell history. */
export function addAuthtoken(token: string, values: FlagValues, env: Env, write: Write): void {
  save('authtoken', token === '-' ? readToken('-') : token, 'Authtoken', values, env, write)
}

/** `config add-api-key`. */
export function addApiKey(key: string, values: FlagValues, env: Env, write: Write): void {
  save('api_key', key === '-' ? readToken('-') : key, 'API key', values, env, write)
}

/** `config add-connect-url`. */
export function addConnectUrl(address: string, values: FlagValues, env: Env, write: Write): void {
  parseServerAddresses(address)
  save('connect_url', address, 'Connect URL', values, env, write)
}

/** `config add-update-url`: where updates come from, and the key that they must be signed with. */
export function addUpdateUrl(
  { url, key }: { url: string; key: string },
  values: FlagValues,
  env: Env,
  write: Write,
): void {
  readUpdateKey(key)
  save('update_url', url, 'Update URL', values, env, write)
  save('update_key', key, 'Update key', values, env, write)
}

function save(
  key: WritableKey,
  value: string,
  title: string,
  values: FlagValues,
  env: Env,
  write: Write,
): void {
  if (value.trim() === '') throw new CommandFailure(`the ${title.toLowerCase()} is empty; nothing was saved`)
  const path = configPath(values, env)
  saveKey(path, key, value)
  write(`${title} saved to configuration file: ${path}\n`)
}

/** `config check`: checks the named files, or the default one, like the start of an agent and its server do. */
export async function checkConfig(
  values: FlagValues,
  env: Env,
  { out, error: warn }: { out: Write; error: Write },
  checkRequest: CheckInput['checkRequest'],
): Promise<void> {
  const paths = configPaths(values, env)
  // Check the files alone: the environment may differ when the agent runs.
  const config = loadConfig(paths.length > 0 ? paths : [defaultConfigPath(env)], {})
  const { requireSpecs, resolveDefinitions } = await import('./check.ts')
  const { agent: keys, describeSource } = config
  requireSpecs(resolveDefinitions({ config, keys, describeSource, checkRequest }))
  for (const path of config.files) out(`Valid configuration file at ${path}\n`)
  for (const warning of config.warnings) warn(`WARN:  ${warning}\n`)
}

/** `config reload`: asks the agent on this machine, at its local API. */
export async function reloadConfig(values: FlagValues, env: Env, write: Write): Promise<void> {
  const web = resolveWebSettings(createContext(values, env).keys)
  if (web === undefined)
    throw new CommandFailure('web_addr is false, so the agent has no local API; send it SIGHUP instead')
  const address = joinHostPort(isUnspecified(web.host) ? '127.0.0.1' : web.host, web.port)
  const response = await fetch(`http://${address}/api/config/reload`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
  }).catch((error) => {
    throw new CommandFailure(
      `no agent answers at ${address}: ${describeNetworkError(error)}.\nSet the address of its local API with --web-addr HOST:PORT; the agent prints it as "Web Interface".`,
    )
  })
  const body = (await response.json().catch(() => ({}))) as ReloadResult & { details?: { err?: string } }
  if (!response.ok)
    throw new CommandFailure(
      `The configuration was not reloaded, and nothing changed.\n${body.details?.err ?? `${address} answered ${response.status}.`}`,
    )
  write(`${describeReload(body).join('\n')}\n`)
}

function isUnspecified(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** `config edit`: opens the file as it is, valid or not, and creates it when it is missing. */
export function editConfig(values: FlagValues, env: Env): number {
  const path = configPath(values, env)
  if (!existsSync(path)) writePrivateFile(path, 'version: "3"\nagent: {}\n')
  const editor = env.EDITOR || env.VISUAL || (process.platform === 'win32' ? 'notepad' : 'nano')
  // An editor may have arguments ("code --wait").
  const [program = editor, ...editorArgs] = editor.split(/\s+/)
  const { status, error } = spawnSync(program, [...editorArgs, path], { stdio: 'inherit' })
  if (error)
    throw new CommandFailure(`cannot start the editor "${editor}"; set EDITOR to one that is installed`)
  return status ?? 1
}

/** `config upgrade`. */
export function upgrade(
  version: string | undefined,
  options: { dryRun: boolean; relocate: boolean },
  values: FlagValues,
  env: Env,
  write: Write,
): void {
  if (version !== undefined && version !== '2' && version !== '3') {
    throw new CommandFailure(`there is no configuration version ${version}; use 2 or 3`)
  }
  const path = configPath(values, env)
  const defaultPath = defaultConfigPath(env)
  const result = upgradeConfig(path, {
    to: version === '2' ? 2 : 3,
    dryRun: options.dryRun,
    relocateTo: options.relocate && path !== defaultPath ? defaultPath : undefined,
  })
  if (!options.dryRun) {
    if (result.backup !== undefined) write(`# Backup of the previous file: ${result.backup}\n`)
    write(`# Upgraded configuration file: ${result.path}\n`)
  }
  write(result.content)
}
