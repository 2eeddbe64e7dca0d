import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, resolve } from 'node:path'
import { CommandFailure } from '../../../base/process/command-line.ts'
import { createDirectory } from '../../../base/process/create-directory.ts'
import { describeFileError } from '../../../base/text/file-error.ts'
import { LAUNCH_COMMAND } from '../../../base/version.ts'
import type { FlagValues } from '../../../command-line/index.ts'
import { loadConfig } from '../../config/load.ts'
import type { Env } from '../../config/paths.ts'
import { configPaths } from '../context.ts'
import { launchdManager } from './launchd.ts'
import type { ServiceAction, ServiceCommand, ServiceManager, ServiceSystem } from './manager.ts'
import { systemdManager } from './systemd.ts'
import { windowsManager } from './windows.ts'

const MANAGERS: Partial<Record<NodeJS.Platform, (system: ServiceSystem) => ServiceManager>> = {
  linux: systemdManager,
  darwin: launchdManager,
  win32: windowsManager,
}

const DONE = { start: 'started', stop: 'stopped', restart: 'restarted' }
/** The exit code of `systemctl status` and init scripts for a service that does not run. */
const EXIT_NOT_RUNNING = 3

/** Runs `adit service ACTION` with the service manager of this system; returns the exit code. */
export async function runServiceAction(
  action: ServiceAction,
  values: FlagValues,
  env: Env,
  write: (text: string) => void,
): Promise<number> {
  const manager = findManager(env)
  if (action === 'install') {
    const configs = await checkConfigs(values, env)
    if (existsSync(manager.file))
      throw new CommandFailure(`the service is already installed (${manager.file}); uninstall it first`)
    installService(manager, configs)
    write(`Service installed: ${manager.file}\nStart it with: adit service start\n`)
    return 0
  }
  if (!existsSync(manager.file))
    throw new CommandFailure('the service is not installed; run: adit service install --config FILE')
  if (action === 'status') {
    const [program, ...args] = manager.status.command
    const { stdout } = spawnSync(program, args, { encoding: 'utf8' })
    const isRunning = manager.status.running.test(stdout ?? '')
    write(`Service ${isRunning ? 'running' : 'not running'}: ${manager.file}\n`)
    return isRunning ? 0 : EXIT_NOT_RUNNING
  }
  runCommands(manager, manager.commands[action])
  if (action === 'uninstall') {
    rmSync(manager.file)
    runCommands(manager, manager.commands.removed)
    write(`Service removed: ${manager.file}\n`)
  } else {
    write(`Service ${DONE[action]}\n`)
  }
  return 0
}

function findManager(env: Env): ServiceManager {
  const createManager = MANAGERS[process.platform]
  if (createManager === undefined)
    throw new CommandFailure(
      'there is no service manager for this system; let the system run: adit start --all --config FILE',
    )
  return createManager({
    uid: process.getuid?.(),
    home: env.HOME || homedir(),
    directory: env.ADIT_UNIT_DIR || undefined,
    environment: env,
  })
}

/** The paths of the service's configuration files, after a check that the service can start with them. */
async function checkConfigs(values: FlagValues, env: Env): Promise<string[]> {
  const paths = configPaths(values, env).map((path) => resolve(path))
  if (paths.length === 0)
    throw new CommandFailure('name the configuration to run: adit service install --config FILE')
  const { requireSpecs, resolveDefinitions, noDefinitionsFailure } = await import('../check.ts')
  const config = loadConfig(paths, {})
  const specs = requireSpecs(
    resolveDefinitions({ config, keys: config.agent, describeSource: config.describeSource }),
  )
  if (specs.size === 0) throw noDefinitionsFailure(config)
  return paths
}

/** Installs the service; removes its file again when the service manager rejects it. */
function installService(manager: ServiceManager, configs: readonly string[]): void {
  const program = [...LAUNCH_COMMAND, 'service', 'run', ...configs.flatMap((path) => ['--config', path])]
  try {
    createDirectory(dirname(manager.file))
    writeFileSync(manager.file, manager.format(program), { mode: 0o644 })
  } catch (error) {
    throw new CommandFailure(`cannot write ${manager.file}: ${describeFileError(error)}`)
  }
  try {
    runCommands(manager, manager.commands.install)
  } catch (error) {
    rmSync(manager.file, { force: true })
    throw error
  }
}

function runCommands(manager: ServiceManager, commands: readonly ServiceCommand[]): void {
  for (const { command, mayFail } of commands) {
    const [program, ...args] = command
    const { status, error, stderr } = spawnSync(program, args, { encoding: 'utf8' })
    if (error) throw new CommandFailure(`${program} was not found; services need ${manager.name}`)
    if (status === 0 || mayFail) continue
    const reason = stderr.trim() || `exit code ${status}`
    const hint = /denied|not permitted|privilege|authentication/i.test(reason)
      ? `; ${manager.accessHint}`
      : ''
    throw new CommandFailure(`${command.join(' ')} failed: ${reason}${hint}`)
  }
}
