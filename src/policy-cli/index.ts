/**
 * `adit policy`: traffic policies on the command line. `check.ts` checks a file without a server; `trial.ts` runs a
 * request through it and `explain.ts` one that was captured, both as the edge would; `from-edge.ts` prints the policy
 * that does what the modules of an edge do (`edge-policy.ts`).
 */
export { checkPolicy } from './check.ts'
export { explainPolicy } from './explain.ts'
export { printEdgePolicy } from './from-edge.ts'
export { testPolicy } from './trial.ts'
