/**
 * `adit policy`: traffic policies on the command line. `check.ts` checks a file without a server; `from-edge.ts` prints the
 * policy that does what the modules of an edge do (`edge-policy.ts`). It may use `policy`, `api-cli` and `base`.
 */
export { checkPolicy } from './check.ts'
export { printEdgePolicy } from './from-edge.ts'
