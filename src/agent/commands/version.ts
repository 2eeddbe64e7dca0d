import { describeVersion } from '../../base/version.ts'
import { ignoreBrokenPipe } from './outputs.ts'

/** `adit version`, without the rest of the command line: scripts ask often, and declaring all commands takes longer. */
export function printVersion(): number {
  ignoreBrokenPipe()
  process.stdout.write(`${describeVersion()}\n`)
  return 0
}
