/** A command line that cannot be carried out: one sentence for the terminal. */
export class ApiCliError extends Error {
  override name = 'Failure'
}
