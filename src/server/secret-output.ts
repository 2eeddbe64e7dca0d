import { fstatSync } from 'node:fs'

/**
 * Whether a person reads the output. Elsewhere it is recorded, by a service manager or a file, and first-start secrets
 * would stay there for whoever may read logs.
 */
export function isTerminalOutput(): boolean {
  return process.stdout.isTTY === true
}

/** Whether the output goes to the journal: systemd names the device and inode it has connected (systemd.exec(5)). */
export function isJournalOutput({ JOURNAL_STREAM }: NodeJS.ProcessEnv = process.env): boolean {
  if (JOURNAL_STREAM === undefined) return false
  const { dev, ino } = fstatSync(process.stdout.fd, { bigint: true })
  return JOURNAL_STREAM === `${dev}:${ino}`
}
