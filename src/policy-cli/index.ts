/**
 * `adit policy`: traffic policies on the command line. `list.ts` declares the commands and loads what they do: `check.ts`
 * checks a file without a server; `trial.ts` runs a request through it and `explain.ts` one that was captured, both as the
 * edge would; `from-edge.ts` prints the policy that does what the modules of an edge do (`edge-policy.ts`).
 */
export { policyCommands } from './list.ts'
