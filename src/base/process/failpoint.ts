/**
 * A named point where a test makes the process fail. `TEST_FAILPOINT` is `name:nth:action`: on the nth call with that
 * name, `throw` throws and `exit` ends the process with SIGKILL. Ignored unless `NODE_ENV=test`.
 */
export function failpoint(name: string): void {
  armed?.(name)
}

/** Reads `TEST_FAILPOINT` again, for a process that runs several tests. */
export function rearmFailpoint(): void {
  armed = createFailpoint(process.env)
}

let armed = createFailpoint(process.env)

/** Creates the failpoint that the environment names; undefined outside tests. */
function createFailpoint(
  { NODE_ENV, TEST_FAILPOINT = '' }: Readonly<Record<string, string | undefined>>,
  exit: () => void = () => process.kill(process.pid, 'SIGKILL'),
): ((name: string) => void) | undefined {
  const [armedName, nth, action] = TEST_FAILPOINT.split(':')
  if (NODE_ENV !== 'test' || !armedName) return undefined
  let remaining = Number(nth ?? 1)
  return (name) => {
    if (name !== armedName || --remaining !== 0) return
    if (action === 'exit') exit()
    throw new FailpointError(name)
  }
}

/** The error of a failpoint. */
export class FailpointError extends Error {
  override name = 'FailpointError'

  constructor(failpointName: string) {
    super(`The failpoint ${failpointName} was reached.`)
  }
}
