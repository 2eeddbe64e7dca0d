import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { CommandFailure } from '../../base/command-line.ts'
import { createDirectory } from '../../base/create-directory.ts'
import { IS_EXECUTABLE } from '../../base/program-files.ts'
import { BASE_ROOT, LAUNCH_COMMAND } from '../../base/version.ts'
import { describeFileError } from '../config/file-error.ts'
import { loadConfig } from '../config/load.ts'
import type { Env } from '../config/paths.ts'
import { configPaths } from './context.ts'
import type { FlagValues } from './session-flags.ts'

const UNIT_NAME = 'adit.service'

/** Actions on the system service that runs `start --all`. */
export type ServiceAction = 'install' | 'start' | 'stop' | 'restart' | 'uninstall'

/** Runs `adit service ACTION` with systemd: a system unit for root, a user unit otherwise. */
export async function runServiceAction(
  action: ServiceAction,
  values: FlagValues,
  env: Env,
  write: (text: string) => void,
): Promise<void> {
  if (process.platform !== 'linux') {
    throw new CommandFailure(
      'services are set up with systemd only; elsewhere let the system run: adit start --all --config FILE',
    )
  }
  const systemWide = process.getuid?.() === 0
  const systemctl = (...args: string[]) => runSystemctl(systemWide ? args : ['--user', ...args])
  const directory = systemWide
    ? '/etc/systemd/system'
    : join(env.XDG_CONFIG_HOME || join(env.HOME ?? '', '.config'), 'systemd/user')
  const unit = join(env.ADIT_UNIT_DIR || directory, UNIT_NAME)

  if (action === 'install') {
    const paths = configPaths(values, env).map((path) => resolve(path))
    if (paths.length === 0)
      throw new CommandFailure('name the configuration to run: adit service install --config FILE')
    const { requireSpecs, resolveDefinitions, noDefinitionsFailure } = await import('./check.ts')
    const config = loadConfig(paths, {})
    const specs = requireSpecs(
      resolveDefinitions({ config, keys: config.agent, describeSource: config.describeSource }),
    )
    if (specs.size === 0) throw noDefinitionsFailure(config)
    if (existsSync(unit))
      throw new CommandFailure(`the service is already installed (${unit}); uninstall it first`)
    writeUnit(unit, formatUnit(paths))
    systemctl('daemon-reload')
    systemctl('enable', UNIT_NAME)
    write(`Service installed: ${unit}\nStart it with: adit service start\n`)
    return
  }
  if (!existsSync(unit))
    throw new CommandFailure('the service is not installed; run: adit service install --config FILE')
  if (action === 'uninstall') {
    systemctl('disable', '--now', UNIT_NAME)
    rmSync(unit)
    systemctl('daemon-reload')
    write(`Service removed: ${unit}\n`)
  } else {
    systemctl(action, UNIT_NAME)
    write(`Service ${action === 'stop' ? 'stopped' : action === 'start' ? 'started' : 'restarted'}\n`)
  }
}

function writeUnit(path: string, text: string): void {
  try {
    createDirectory(dirname(path))
    writeFileSync(path, text, { mode: 0o644 })
  } catch (error) {
    throw new CommandFailure(`cannot write ${path}: ${describeFileError(error)}`)
  }
}

/** systemd expands `%` specifiers and splits at blanks, so values are quoted and escaped. */
function quoteUnitValue(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`
}

function formatUnit(paths: string[]): string {
  const configs = paths.map((path) => `--config ${quoteUnitValue(path)}`).join(' ')
  const documentation = IS_EXECUTABLE ? '' : `Documentation=file://${BASE_ROOT}/docs/agent.md\n`
  return `[Unit]
Description=Adit agent
${documentation}After=network-online.target
Wants=network-online.target

[Service]
ExecStart=${LAUNCH_COMMAND.map(quoteUnitValue).join(' ')} service run ${configs}
Restart=always
RestartSec=15
# A restart does not repair an unusable configuration.
RestartPreventExitStatus=5
NoNewPrivileges=true

[Install]
WantedBy=${process.getuid?.() === 0 ? 'multi-user.target' : 'default.target'}
`
}

function runSystemctl(args: string[]): void {
  const { status, error, stderr } = spawnSync('systemctl', args, { encoding: 'utf8' })
  if (error) throw new CommandFailure('systemctl was not found; services need systemd')
  if (status !== 0)
    throw new CommandFailure(`systemctl ${args.join(' ')} failed: ${stderr.trim() || `exit code ${status}`}`)
}
