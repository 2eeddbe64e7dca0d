import { accessSync, constants, existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { BASE_ROOT } from '../../base/version.ts'

/**
 * How to put `adit` on the PATH, which every message assumes; undefined when it is there. Offers the first directory of
 * the PATH that is meant for commands of this user, and otherwise that of the machine.
 */
export function offerCommandOnPath(
  environment: NodeJS.ProcessEnv,
  program: string = join(BASE_ROOT, 'bin', 'adit'),
): string | undefined {
  const directories = (environment.PATH ?? '').split(delimiter).filter((directory) => directory !== '')
  // An installed package or a single executable is on the PATH, or has no launcher that a link could lead to.
  if (!existsSync(program) || directories.some((directory) => existsSync(join(directory, 'adit'))))
    return undefined
  const home = environment.HOME || homedir()
  const own = [join(home, '.local', 'bin'), join(home, 'bin'), '/usr/local/bin']
    .filter((directory) => directories.includes(directory))
    .find(isWritable)
  return own === undefined
    ? `sudo ln -s ${program} /usr/local/bin/adit`
    : `ln -s ${program} ${join(own, 'adit')}`
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK)
    return true
  } catch {
    return false
  }
}
