import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The Debian package of each program that a test of packages may need; undefined where there is none. */
const PACKAGES = {
  buildah: 'buildah',
  cadaver: 'cadaver',
  chromium: 'chromium',
  'chromium-headless-shell': 'chromium-headless-shell',
  debootstrap: 'debootstrap',
  'docker-registry': 'docker-registry',
  'dpkg-deb': 'dpkg',
  etcd: 'etcd-server',
  ffmpeg: 'ffmpeg',
  git: 'git',
  go: 'golang-go',
  haproxy: 'haproxy',
  ip: 'iproute2',
  java: 'default-jdk-headless',
  'kube-apiserver': undefined,
  kubectl: 'kubectl',
  mvn: 'maven',
  nginx: 'nginx',
  pgbench: 'postgresql',
  pgbouncer: 'pgbouncer',
  php: 'php-cli',
  'python2.7': undefined,
  python3: 'python3-venv',
  rclone: 'rclone',
  'redis-server': 'redis-server',
  restic: 'restic',
  scp: 'openssh-client',
  skopeo: 'skopeo',
  'ssh-keygen': 'openssh-client',
  sshd: 'openssh-server',
  'systemd-analyze': 'systemd',
  terraform: 'terraform',
  tofu: 'tofu',
  unshare: 'util-linux',
} as const

/** Administrators' programs may be missing from the PATH of others. */
const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']

/** Why a test that needs root and these programs is skipped; false when it can run. */
export function reasonToSkip(...programs: (keyof typeof PACKAGES)[]): string | false {
  return process.getuid?.() === 0 ? missingPrograms(...programs) : 'needs root'
}

/** Which of these programs are missing and what installs them; false when none is. */
export function missingPrograms(...programs: (keyof typeof PACKAGES)[]): string | false {
  const missing = programs.filter((name) => !directories.some((path) => existsSync(join(path, name))))
  if (missing.length === 0) return false
  const packages = missing.flatMap((name) => PACKAGES[name] ?? [])
  const hint = packages.length === 0 ? '' : `: apt-get install -y ${packages.join(' ')}`
  return `needs ${missing.join(' and ')}${hint}`
}
