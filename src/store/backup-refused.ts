/** A backup cannot be written or restored; the message says what to do. */
export class BackupRefused extends Error {
  override name = 'BackupError'
}
