/**
 * Trials: a request is run through a policy without a server, by the code that live traffic runs through. Begin with
 * `trial.ts`. `exchange.ts` stands for the client's connection, `trace.ts` records what rules decide, and
 * `outside-actions.ts` says what actions would do that reach outside. `adit policy test` and the API enter here, so that
 * neither loads the listeners of the edge.
 */
export { createInlineReplacer } from './inline-replacer.ts'
export { isText, trialToJson } from './report.ts'
export { type Trial, TrialError, type TrialOptions, type TrialRequest, tryRequest } from './trial.ts'
