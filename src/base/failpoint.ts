/**
 * A named place where a test lets the process fail. `TEST_FAILPOINT` is `name:nth:action`; the nth time the place is
 * passed, `throw` throws there and `exit` ends the process as a kill would. Honoured only with `NODE_ENV=test`.
 */
export const failpoint: (name: string) => void = createFailpoint(process.env) ?? (() => {})

/** What the environment asks for; undefined outside tests. */
export function createFailpoint(
  { NODE_ENV, TEST_FAILPOINT = '' }: Readonly<Record<string, string | undefined>>,
  exit: () => void = () => process.kill(process.pid, 'SIGKILL'),
): ((name: string) => void) | undefined {
  const [armedName, nth, action] = TEST_FAILPOINT.split(':')
  if (NODE_ENV !== 'test' || !armedName) return undefined
  let remaining = Number(nth ?? 1)
  return (name) => {
    if (name !== armedName || --remaining !== 0) return
    if (action === 'exit') exit()
    throw new Failpoint(name)
  }
}

/** The failure a test asked for. */
export class Failpoint extends Error {
  override name = 'Failpoint'

  constructor(failpointName: string) {
    super(`The failpoint ${failpointName} was reached.`)
  }
}
