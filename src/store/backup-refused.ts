/** A backup cannot be made or restored; the message says what to do. */
export class BackupRefused extends Error {
  override name = 'BackupRefused'
}
