import { DROP_IN_VERSION, IS_DROP_IN } from '../../base/process/drop-in.ts'
import { describeVersion } from '../../base/version.ts'
import { ignoreBrokenPipe } from './outputs.ts'

/** The text of `adit version`; wrappers of the original read its version from it. */
export const VERSION_TEXT: string = IS_DROP_IN ? `ngrok version ${DROP_IN_VERSION}` : describeVersion()

/** `adit version`, without the rest of the command line: scripts ask often, and declaring all commands takes longer. */
export function printVersion(): number {
  ignoreBrokenPipe()
  process.stdout.write(`${VERSION_TEXT}\n`)
  return 0
}
