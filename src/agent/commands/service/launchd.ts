import { posix } from 'node:path'
import type { ServiceCommand, ServiceManager, ServiceSystem } from './manager.ts'
import { escapeXml } from './xml.ts'

const LABEL = 'adit.agent'

/** macOS: a daemon for root, otherwise an agent of the user, which starts when the user logs in. */
export function launchdManager({ uid, home, directory }: ServiceSystem): ServiceManager {
  const systemWide = uid === 0
  const domain = systemWide ? 'system' : `gui/${uid}`
  const service = `${domain}/${LABEL}`
  const library = systemWide ? '/Library' : posix.join(home, 'Library')
  const file = posix.join(
    directory ?? posix.join(library, systemWide ? 'LaunchDaemons' : 'LaunchAgents'),
    `${LABEL}.plist`,
  )
  const launchctl = (...args: string[]): ServiceCommand => ({ command: ['launchctl', ...args] })
  // Fails when the service is loaded; the command after it says if that was not the reason.
  const load: ServiceCommand = { ...launchctl('bootstrap', domain, file), mayFail: true }
  return {
    name: 'launchd',
    file,
    format: (program) => formatPropertyList(program, posix.join(library, 'Logs', 'adit-agent.log')),
    commands: {
      install: [launchctl('enable', service)],
      start: [load, launchctl('kickstart', service)],
      stop: [launchctl('bootout', service)],
      restart: [load, launchctl('kickstart', '-k', service)],
      uninstall: [{ ...launchctl('bootout', service), mayFail: true }],
      removed: [],
    },
    status: { command: launchctl('print', service).command, running: /\bstate = running$/m },
    accessHint: 'run it with sudo',
  }
}

/** launchd has no exit code that prevents a restart, so an unusable configuration is tried every 15 seconds. */
function formatPropertyList(program: readonly string[], log: string): string {
  const strings = program.map((word) => `    <string>${escapeXml(word)}</string>\n`).join('')
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${strings}  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>15</integer>
  <key>ProcessType</key>
  <string>Background</string>
  <key>StandardOutPath</key>
  <string>${escapeXml(log)}</string>
  <key>StandardErrorPath</key>
  <string>${escapeXml(log)}</string>
</dict>
</plist>
`
}
