import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { reason } from '../config/file.ts'
import { loadConfig } from '../config/load.ts'
import type { Env } from '../config/paths.ts'
import { BASE_ROOT } from '../version.ts'
import { configPaths } from './context.ts'
import { Failure } from './failure.ts'
import type { FlagValues } from './flags.ts'

const UNIT = 'adit.service'

/** What is done to the service that runs `start --all` whenever the machine does. */
export type ServiceAction = 'install' | 'start' | 'stop' | 'restart' | 'uninstall'

/** Carries out `adit service …` with systemd: for the whole machine as root, for the user otherwise. */
export async function service(
  action: ServiceAction,
  values: FlagValues,
  env: Env,
  write: (text: string) => void,
): Promise<void> {
  if (process.platform !== 'linux') {
    throw new Failure(
      'services are set up with systemd only; elsewhere let the system run: adit start --all --config FILE',
    )
  }
  const everybody = process.getuid?.() === 0
  const systemctl = (...args: string[]) => run(everybody ? args : ['--user', ...args])
  const directory = everybody
    ? '/etc/systemd/system'
    : join(env.XDG_CONFIG_HOME || join(env.HOME ?? '', '.config'), 'systemd/user')
  const unit = join(env.ADIT_UNIT_DIR || directory, UNIT)

  if (action === 'install') {
    const paths = configPaths(values, env).map((path) => resolve(path))
    if (paths.length === 0)
      throw new Failure('name the configuration to run: adit service install --config FILE')
    const { checkEverything, definesNothing } = await import('./check.ts')
    const config = loadConfig(paths, {})
    const defined = checkEverything({ config, keys: config.agent, placeOf: config.placeOf })
    if (defined.size === 0) throw definesNothing(config)
    if (existsSync(unit)) throw new Failure(`the service is installed already (${unit}); uninstall it first`)
    writeUnit(unit, unitText(paths))
    systemctl('daemon-reload')
    systemctl('enable', UNIT)
    write(`Service installed: ${unit}\nStart it with: adit service start\n`)
    return
  }
  if (!existsSync(unit))
    throw new Failure('the service is not installed; run: adit service install --config FILE')
  if (action === 'uninstall') {
    systemctl('disable', '--now', UNIT)
    rmSync(unit)
    systemctl('daemon-reload')
    write(`Service removed: ${unit}\n`)
  } else {
    systemctl(action, UNIT)
    write(`Service ${action === 'stop' ? 'stopped' : action === 'start' ? 'started' : 'restarted'}\n`)
  }
}

function writeUnit(path: string, text: string): void {
  try {
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, text, { mode: 0o644 })
  } catch (error) {
    throw new Failure(`cannot write ${path}: ${reason(error)}`)
  }
}

/** systemd reads `%` as a specifier and splits at blanks, so names are quoted and escaped. */
function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`
}

function unitText(paths: string[]): string {
  const configs = paths.map((path) => `--config ${quoted(path)}`).join(' ')
  return `[Unit]
Description=Adit agent
Documentation=file://${BASE_ROOT}/docs/agent.md
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=${quoted(join(BASE_ROOT, 'bin', 'adit'))} service run ${configs}
Restart=always
RestartSec=15
# A configuration that cannot be read will not be better in 15 seconds.
RestartPreventExitStatus=5
NoNewPrivileges=true

[Install]
WantedBy=${process.getuid?.() === 0 ? 'multi-user.target' : 'default.target'}
`
}

function run(args: string[]): void {
  const { status, error, stderr } = spawnSync('systemctl', args, { encoding: 'utf8' })
  if (error) throw new Failure('systemctl was not found; services need systemd')
  if (status !== 0)
    throw new Failure(`systemctl ${args.join(' ')} failed: ${stderr.trim() || `exit code ${status}`}`)
}
