// The pure backend runs in this process and needs no native binary. The variable is read when the package is loaded.
process.env.RECHECK_BACKEND = 'pure'
const { checkSync } = await import('recheck')

/** Whether a regular expression, written as a literal, takes linear time on every input: `safe` if that is proven. */
export function checkExpression(literal: string): 'safe' | 'vulnerable' | 'unknown' {
  const end = literal.lastIndexOf('/')
  return checkSync(literal.slice(1, end), literal.slice(end + 1), {
    checker: 'automaton',
    // No timeout, so that a slow machine does not change the result.
    timeout: null,
  }).status
}
