/** A command line that cannot be carried out: one sentence for the terminal. */
export class Failure extends Error {
  override name = 'Failure'
}
