/** An action cannot do what its configuration asks for with this request. Its owner finds the message in the log. */
export class PolicyFailure extends Error {
  override name = 'PolicyFailure'
}
