import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { CommandFailure } from '../../base/process/command-line.ts'
import { describeFileError } from '../../base/text/file-error.ts'

const run = promisify(execFile)
const NOTIFY_TIMEOUT_MS = 60_000

/** Rejects an upgrade after which systemd would take the end of this process for the end of the service. */
export function requireFollower({ NOTIFY_SOCKET, SYSTEMD_EXEC_PID }: NodeJS.ProcessEnv): void {
  if (SYSTEMD_EXEC_PID === String(process.pid) && NOTIFY_SOCKET === undefined)
    throw new CommandFailure(
      'systemd would not follow the new release. Add NotifyAccess=all to the section [Service] of the unit, or write it again with "adit server setup", and restart the service once.',
    )
}

/**
 * Tells systemd which process is the service from now on. Its own program does, since Node has no datagram sockets of the
 * local machine.
 */
export async function reportMainProcess(pid: number, { NOTIFY_SOCKET }: NodeJS.ProcessEnv): Promise<void> {
  if (NOTIFY_SOCKET === undefined) return
  const options = { timeout: NOTIFY_TIMEOUT_MS, killSignal: 'SIGKILL' } as const
  await run('systemd-notify', [`MAINPID=${pid}`], options).catch((error: Error) => {
    throw new CommandFailure(`systemd-notify failed: ${describeFileError(error)}.`)
  })
}
