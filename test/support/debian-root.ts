import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

const cache = join(import.meta.dirname, '..', '..', 'dist', '.debian')
const IN_ROOT =
  'mount -t proc proc "$0/proc" && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot'

/** A root file system with nothing but Debian's base system, and the network of this machine. */
export interface DebianRoot {
  readonly directory: string
  /** The command line that runs a command in it, which is then the process itself. */
  wrap(command: readonly string[], user?: string): [string, ...string[]]
  /** Runs a command in it as root; returns its output. */
  run(...command: string[]): string
}

/** Creates a root file system, in memory, because the package manager waits for the disk after each file. Requires root. */
export function createDebianRoot(t: TestContext): DebianRoot {
  const directory = mkdtempSync(join(tmpdir(), 'adit-debian-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'mode=0755', 'tmpfs', directory])
  t.after(() => {
    execFileSync('umount', [directory])
    rmSync(directory, { recursive: true })
  })
  execFileSync('tar', ['-xf', debianArchive(), '-C', directory])
  const wrap: DebianRoot['wrap'] = (command, user = 'root') => [
    ...(['unshare', '--mount', 'sh', '-c'] as const),
    `${IN_ROOT} --userspec=${user} "$0" "$@"`,
    directory,
    ...command,
  ]
  return {
    directory,
    wrap,
    run(...command) {
      const [program, ...args] = wrap(command)
      const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
      assert.equal(status, 0, `${command.join(' ')}: ${stdout}${stderr}`)
      return stdout
    },
  }
}

/** The base system of the release that this machine runs, built by debootstrap once and kept in `dist/.debian`. */
export function debianArchive(): string {
  const suite = /^VERSION_CODENAME=(.+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))![1]!
  const archive = join(cache, `${suite}.tar`)
  if (existsSync(archive)) return archive
  mkdirSync(cache, { recursive: true })
  const incoming = join(cache, `.${suite}-${process.pid}.tar`)
  const staging = mkdtempSync(join(tmpdir(), 'adit-debootstrap-'))
  try {
    const script = `mount -t tmpfs tmpfs "$1" && debootstrap --variant=minbase --include=ca-certificates "$2" "$1/root" && tar -C "$1/root" --numeric-owner -cf "$3" .`
    execFileSync('unshare', ['--mount', 'sh', '-c', script, 'sh', staging, suite, incoming], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    renameSync(incoming, archive)
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
  return archive
}
