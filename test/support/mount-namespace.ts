import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'

/** A view of the file system that differs from this machine's, for the programs that are started in it. */
export interface MountNamespace {
  /** The command line that runs a command in it. */
  wrap(command: readonly string[]): [string, ...string[]]
}

/**
 * Creates a mount namespace in which files of the system are replaced by others and directories are empty; undefined
 * where the kernel does not allow it. It ends with the test.
 */
export async function createMountNamespace(
  t: TestContext,
  { files = {}, emptyDirectories = [] }: { files?: Record<string, string>; emptyDirectories?: string[] },
): Promise<MountNamespace | undefined> {
  const mounts = [
    ...Object.entries(files).map(([target, source]) => `mount --bind '${source}' '${target}'`),
    ...emptyDirectories.map((directory) => `mount -t tmpfs tmpfs '${directory}'`),
  ]
  const script = ['set -e', ...mounts, 'echo ready', 'exec cat'].join('\n')
  const holder = spawn('unshare', ['--map-root-user', '--mount', 'sh', '-c', script])
  t.after(() => holder.kill('SIGKILL'))
  if (!(await isReady(holder))) return undefined
  return {
    wrap: (command) => [
      'nsenter',
      `--target=${holder.pid}`,
      '--user',
      '--mount',
      '--preserve-credentials',
      `--wd=${process.cwd()}`,
      ...command,
    ],
  }
}

async function isReady(holder: ChildProcess): Promise<boolean> {
  const [first] = await Promise.race([
    once(holder.stdout!, 'data'),
    once(holder, 'exit'),
    once(holder, 'error'),
  ])
  return String(first) === 'ready\n'
}
