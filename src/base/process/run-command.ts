import { formatError } from '../text/serialize-error.ts'

const UNSETTLED_MESSAGE =
  'The command ended before it was done: it waited for a response that can no longer arrive. Run it again; if it happens again, it is a bug.'

/**
 * Runs the command of this process and sets its exit code. Node silently exits with code 13 when nothing but unsettled
 * promises is left; here that prints an error and exits with 1. An uncaught error is printed by its stack alone: Node would
 * also print its properties, which may hold requests or settings with their secrets.
 */
export async function runCommand(command: () => Promise<number>): Promise<void> {
  const reportUncaught = (error: unknown) => {
    process.stderr.write(`ERROR:  ${formatError(error)}\n`)
    process.exit(1)
  }
  process.on('uncaughtException', reportUncaught)
  const reportUnsettled = () => {
    process.stderr.write(`ERROR:  ${UNSETTLED_MESSAGE}\n`)
    process.exitCode = 1
  }
  process.once('beforeExit', reportUnsettled)
  try {
    process.exitCode = await command()
  } finally {
    process.off('beforeExit', reportUnsettled)
  }
}
