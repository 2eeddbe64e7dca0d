/** A backup cannot be written or restored; the message says what to do. */
export class BackupError extends Error {
  override name = 'BackupError'
}
