/** A command line that cannot be run: one sentence for the terminal. */
export class ApiCliError extends Error {
  override name = 'Failure'
}
