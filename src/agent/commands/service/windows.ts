import { win32 } from 'node:path'
import type { ServiceCommand, ServiceManager, ServiceSystem } from './manager.ts'
import { escapeXml } from './xml.ts'

const TASK = 'Adit agent'

/**
 * Windows: a scheduled task that starts with the system. A service in the narrow sense would have to answer the Service
 * Control Manager, which needs native code (decision 175).
 */
export function windowsManager({ directory, environment }: ServiceSystem): ServiceManager {
  const data = win32.join(environment.ProgramData || 'C:\\ProgramData', 'adit')
  const file = win32.join(directory ?? data, 'adit-agent.xml')
  const schtasks = (action: string, ...args: string[]): ServiceCommand => ({
    command: ['schtasks.exe', action, '/TN', TASK, ...args],
  })
  const end: ServiceCommand = { ...schtasks('/End'), mayFail: true }
  return {
    name: 'the Task Scheduler',
    file,
    format: (program) => encodeUtf16(formatTask(program)),
    commands: {
      install: [schtasks('/Create', '/XML', file)],
      start: [schtasks('/Run')],
      stop: [schtasks('/End')],
      restart: [end, schtasks('/Run')],
      uninstall: [end, schtasks('/Delete', '/F')],
      removed: [],
    },
    status: {
      // Not `schtasks /Query`, whose words depend on the language of the system.
      command: [
        ...(['powershell.exe', '-NoProfile', '-NonInteractive', '-Command'] as const),
        `(Get-ScheduledTask -TaskName '${TASK}').State.ToString()`,
      ],
      running: /^Running\s*$/m,
    },
    accessHint: 'use a terminal that runs as administrator',
  }
}

/** The Task Scheduler reads no other encoding reliably. */
function encodeUtf16(text: string): Buffer {
  return Buffer.from(`\ufeff${text.replaceAll('\n', '\r\n')}`, 'utf16le')
}

/** The rules of CommandLineToArgvW: backslashes count only before a quotation mark. */
function quoteArgument(text: string): string {
  if (/^[^\s"]+$/.test(text)) return text
  const parts = text.split('"').map((part) => part + '\\'.repeat(countTrailingBackslashes(part)))
  return `"${parts.join('\\"')}"`
}

function countTrailingBackslashes(text: string): number {
  let count = 0
  while (text.at(-1 - count) === '\\') count++
  return count
}

function formatTask([program = '', ...args]: readonly string[]): string {
  return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Adit agent</Description>
  </RegistrationInfo>
  <Triggers>
    <BootTrigger>
      <Enabled>true</Enabled>
    </BootTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>S-1-5-18</UserId>
      <RunLevel>HighestAvailable</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>255</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>${escapeXml(program)}</Command>
      <Arguments>${escapeXml(args.map(quoteArgument).join(' '))}</Arguments>
    </Exec>
  </Actions>
</Task>
`
}
