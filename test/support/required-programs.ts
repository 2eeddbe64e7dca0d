import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The Debian package of each program that a test of packages may need. */
const PACKAGES = {
  buildah: 'buildah',
  chromium: 'chromium',
  debootstrap: 'debootstrap',
  'dpkg-deb': 'dpkg',
  go: 'golang-go',
  ip: 'iproute2',
  java: 'default-jdk-headless',
  mvn: 'maven',
  python3: 'python3-venv',
  'ssh-keygen': 'openssh-client',
  'systemd-analyze': 'systemd',
  terraform: 'terraform',
  tofu: 'tofu',
  unshare: 'util-linux',
} as const

/** Administrators' programs may be missing from the PATH of others. */
const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']

/** Why a test that needs root and these programs is skipped; false when it can run. */
export function reasonToSkip(...programs: (keyof typeof PACKAGES)[]): string | false {
  if (process.getuid?.() !== 0) return 'needs root'
  const missing = programs.filter((name) => !directories.some((path) => existsSync(join(path, name))))
  if (missing.length === 0) return false
  const packages = missing.map((name) => PACKAGES[name]).join(' ')
  return `needs ${missing.join(' and ')}: apt-get install -y ${packages}`
}
