/**
 * `adit api`: the operations of the management API on the command line. Commands and flags are derived from the API's
 * routes, without loading the server. Begin with `run.ts`, then `commands.ts` and `flags.ts`; `account.ts` is `adit
 * apply` and `adit export`, the whole account as one document.
 */

export { applyAccount, exportAccount } from './account.ts'
export { callApi } from './call.ts'
export { apiCompletion } from './completion.ts'
export { runApi } from './run.ts'
