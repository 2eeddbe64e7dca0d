const UNSETTLED_MESSAGE =
  'The command ended before it was done: it waited for an answer that can no longer come. Run it again; if it happens again, it is a bug.'

/**
 * Runs the command of this process and sets its exit code. Node silently exits with code 13 when nothing but unsettled
 * promises is left; here that prints an error and exits with 1.
 */
export async function runCommand(command: () => Promise<number>): Promise<void> {
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
