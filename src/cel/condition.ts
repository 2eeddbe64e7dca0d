import { compile, type Program } from './compile.ts'
import type { Environment } from './environment.ts'
import type { Inspect } from './reads.ts'

/** A compiled condition, or the sentence that says what is wrong with its source and where. */
export type Condition = { readonly program: Program } | { readonly error: string }

/** Compiles an expression that has to be true or false. */
export function compileCondition(source: string, environment: Environment, inspect?: Inspect): Condition {
  const compilation = compile(source, environment, inspect)
  if (!compilation.ok) {
    const [{ message, line, column }] = compilation.errors as [(typeof compilation.errors)[number]]
    return { error: `${message} (line ${line}, column ${column})` }
  }
  const { program } = compilation
  const { kind } = program.type
  return kind === 'bool' || kind === 'dyn'
    ? { program }
    : { error: `it has to be true or false, but is of type ${kind}` }
}
