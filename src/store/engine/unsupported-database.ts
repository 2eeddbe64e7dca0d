/** The database is reachable but cannot be used safely. */
export class UnsupportedDatabase extends Error {
  override name = 'UnsupportedDatabase'
}
