import { fstatSync } from 'node:fs'

/**
 * Whether the output is a terminal. Otherwise a service manager or a file records it, and first-start secrets would
 * stay in the logs.
 */
export function isTerminalOutput(): boolean {
  return process.stdout.isTTY === true
}

/** Whether the output goes to the journal: systemd sets its device and inode (systemd.exec(5)). */
export function isJournalOutput({ JOURNAL_STREAM }: NodeJS.ProcessEnv = process.env): boolean {
  if (JOURNAL_STREAM === undefined) return false
  const { dev, ino } = fstatSync(process.stdout.fd, { bigint: true })
  return JOURNAL_STREAM === `${dev}:${ino}`
}
