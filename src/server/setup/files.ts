import { LAUNCH_COMMAND } from '../../base/version.ts'

/** The text of a settings file that systemd (EnvironmentFile) and shells read alike. */
export function formatSettingsFile(values: ReadonlyMap<string, string>): string {
  const lines = [...values].map(([variable, value]) => `${variable}=${quote(value)}`)
  return `# Settings of adit server, written by "adit server setup". "adit server --help" lists all of them.\n${lines.join('\n')}\n`
}

function quote(value: string): string {
  return /^[\w.,:/@+%=?&[\]~-]*$/.test(value) ? value : `"${value.replace(/[\\"$`]/g, '\\$&')}"`
}

/** systemd expands `%` specifiers and splits at blanks. */
function quoteUnitValue(text: string): string {
  return /^[\w./-]+$/.test(text)
    ? text
    : `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`
}

/** The systemd unit of the server; `deploy/adit.service` is the same for a clone in /opt/adit. */
export function formatUnit({
  settingsFile,
  dataDir,
  command = LAUNCH_COMMAND,
}: {
  settingsFile: string
  dataDir: string
  command?: readonly string[]
}): string {
  return `[Unit]
Description=Adit tunnel and ingress platform
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
User=adit
Group=adit
EnvironmentFile=${quoteUnitValue(settingsFile)}
Environment=ADIT_DATA_DIR=${quoteUnitValue(dataDir)}
ExecStart=${command.map(quoteUnitValue).join(' ')} server
# A new release takes over from the running one, which tells systemd of its process.
ExecReload=${command.map(quoteUnitValue).join(' ')} server upgrade
NotifyAccess=all
TimeoutStartSec=120
# The first signal lets running requests finish; systemd ends what is left after the time-out.
KillMode=mixed
TimeoutStopSec=45
Restart=always
RestartSec=1
LimitNOFILE=1048576
${stateDirectory(dataDir)}
UMask=0077

# Ports below 1024, and no other privilege.
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
NoNewPrivileges=yes

# The whole system is read-only except for the state directory.
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectProc=invisible
ProcSubset=pid
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
LockPersonality=yes
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM
# Not MemoryDenyWriteExecute: a just-in-time compiler writes code and runs it.

[Install]
WantedBy=multi-user.target
`
}

/** systemd creates directories below /var/lib itself. */
function stateDirectory(dataDir: string): string {
  const [, name] = /^\/var\/lib\/([\w-]+)$/.exec(dataDir) ?? []
  return name === undefined
    ? `ReadWritePaths=${quoteUnitValue(dataDir)}`
    : `StateDirectory=${name}\nStateDirectoryMode=0700`
}
