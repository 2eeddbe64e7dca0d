import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The Debian package of each program that a test of packages may need; undefined where there is none. */
const PACKAGES = {
  buildah: 'buildah',
  chromium: 'chromium',
  debootstrap: 'debootstrap',
  'dpkg-deb': 'dpkg',
  etcd: 'etcd-server',
  go: 'golang-go',
  haproxy: 'haproxy',
  ip: 'iproute2',
  java: 'default-jdk-headless',
  'kube-apiserver': undefined,
  kubectl: 'kubectl',
  mvn: 'maven',
  nginx: 'nginx',
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
  const packages = missing.flatMap((name) => PACKAGES[name] ?? [])
  const hint = packages.length === 0 ? '' : `: apt-get install -y ${packages.join(' ')}`
  return `needs ${missing.join(' and ')}${hint}`
}
