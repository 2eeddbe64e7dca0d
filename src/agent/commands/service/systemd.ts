import { join } from 'node:path'
import { IS_EXECUTABLE } from '../../../base/process/program-files.ts'
import { BASE_ROOT } from '../../../base/version.ts'
import type { ServiceCommand, ServiceManager, ServiceSystem } from './manager.ts'

/** The server's unit, of the Debian package for example, is `adit.service`. */
const UNIT = 'adit-agent.service'

/** Linux: a system unit for root, a user unit otherwise. */
export function systemdManager({ uid, home, directory, environment }: ServiceSystem): ServiceManager {
  const systemWide = uid === 0
  const systemctl = (...args: string[]): ServiceCommand => ({
    command: ['systemctl', ...(systemWide ? [] : ['--user']), ...args],
  })
  const units = systemWide
    ? '/etc/systemd/system'
    : join(environment.XDG_CONFIG_HOME || join(home, '.config'), 'systemd', 'user')
  return {
    name: 'systemd',
    file: join(directory ?? units, UNIT),
    format: (program) => formatUnit(program, systemWide),
    commands: {
      install: [systemctl('daemon-reload'), systemctl('enable', UNIT)],
      start: [systemctl('start', UNIT)],
      stop: [systemctl('stop', UNIT)],
      restart: [systemctl('restart', UNIT)],
      uninstall: [systemctl('disable', '--now', UNIT)],
      removed: [systemctl('daemon-reload')],
    },
    status: { command: systemctl('is-active', UNIT).command, running: /^active$/m },
    accessHint: 'run it as root',
  }
}

/** systemd expands `%` specifiers and splits at blanks, so values are quoted and escaped. */
function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`
}

function formatUnit(program: readonly string[], systemWide: boolean): string {
  const documentation = IS_EXECUTABLE ? '' : `Documentation=file://${BASE_ROOT}/docs/agent.md\n`
  return `[Unit]
Description=Adit agent
${documentation}After=network-online.target
Wants=network-online.target

[Service]
ExecStart=${program.map(quote).join(' ')}
ExecReload=/bin/sh -c "kill -HUP $MAINPID"
Restart=always
RestartSec=15
# A restart does not repair an unusable configuration.
RestartPreventExitStatus=5
NoNewPrivileges=true

[Install]
WantedBy=${systemWide ? 'multi-user.target' : 'default.target'}
`
}
