/**
 * The command line of the program. A command declares its words, operands, flags and examples (`command.ts`) and loads what
 * it does when it runs; parsing (`run.ts`), sentences about mistakes (`mistakes.ts`), help (`help.ts`) and shell completion
 * (`completion.ts`) follow from the list of all. `adit server` and `adit api` are entries of that list and have tables of their own.
 */
export {
  type Call,
  type CommandFlag,
  defineCommand,
  type FlagValues,
  isJsonOutput,
  listOf,
  OUTPUT_FLAG,
  type Output,
  type ProgramCommand,
  textOf,
} from './command.ts'
export { completionNodes, generateCompletion, SHELLS } from './completion.ts'
export { type Program, runCommandLine } from './run.ts'
