/**
 * `adit api`: the operations of the management API on the command line. Commands and flags are derived from the API's
 * routes, without loading the server. Begin with `run.ts`, then `commands.ts` and `flags.ts`; `account.ts` is `adit
 * apply` and `adit export`, the whole account as one document. `list.ts` declares these three to the program and loads
 * nothing else.
 */
export type { ApiFlags } from './access.ts'
export { API_FLAGS, accountCommands, apiCommand, apiFlagsOf } from './list.ts'
