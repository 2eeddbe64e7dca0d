const UNSETTLED_MESSAGE =
  'The command ended before it was done: it waited for an answer that can no longer come. Run it again; if it happens again, it is a bug.'

/**
 * Runs the one command of this process and sets its exit code. Node ends a process that only waits for promises, with
 * code 13 and nothing to read; here that is a failure with a sentence.
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
