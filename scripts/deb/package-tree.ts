import { execFileSync } from 'node:child_process'
import { chmod, cp, glob, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { manPage, runAdit } from './man-page.ts'

const root = join(import.meta.dirname, '..', '..')
const DOCUMENTS = 'usr/share/doc/adit'
const CONFFILES = ['/etc/adit/adit.env', '/etc/adit/agent.yml']

/** Where shells look for the completion code of a package; that for zsh works only where it is sourced. */
const COMPLETIONS = {
  bash: 'usr/share/bash-completion/completions/adit',
  fish: 'usr/share/fish/vendor_completions.d/adit.fish',
}

/** What a Debian package is made for and from. */
export interface PackageOptions {
  readonly version: string
  /** As Debian names it: `amd64`. */
  readonly architecture: string
  /** The single executable of that architecture. */
  readonly executable: string
}

/** Writes the files of the Debian package into an empty directory, as `dpkg-deb --build` expects them. */
export async function writePackageTree(directory: string, options: PackageOptions): Promise<void> {
  const path = (name: string) => join(directory, name)
  const copy = (from: string, to: string) => cp(join(root, from), path(to), { recursive: true })
  await mkdir(directory, { recursive: true })
  await chmod(directory, 0o755)
  await mkdir(path('usr/bin'), { recursive: true })
  await cp(options.executable, path('usr/bin/adit'))
  await chmod(path('usr/bin/adit'), 0o755)
  await copy('deploy/adit.env', 'etc/adit/adit.env')
  await copy('deploy/debian/agent.yml', 'etc/adit/agent.yml')
  await copy('deploy/adit-agent.service', 'usr/lib/systemd/system/adit-agent.service')
  await writeText(path('usr/lib/systemd/system/adit.service'), await serverUnit())
  for await (const document of glob('docs/*.md', { cwd: root }))
    await copy(document, document.replace('docs', DOCUMENTS))
  await copy('LICENSE', `${DOCUMENTS}/copyright`)
  const gzip = (name: string, text: string | Buffer) => writeText(path(`${name}.gz`), gzipSync(text))
  await gzip(`${DOCUMENTS}/changelog`, await readFile(join(root, 'CHANGELOG.md')))
  await gzip('usr/share/man/man1/adit.1', manPage(options.version, `/${DOCUMENTS}`))
  for (const [shell, file] of Object.entries(COMPLETIONS))
    await writeText(path(file), runAdit('completion', shell))
  for (const script of ['postinst', 'prerm', 'postrm']) {
    await copy(`deploy/debian/${script}`, `DEBIAN/${script}`)
    await chmod(path(`DEBIAN/${script}`), 0o755)
  }
  await writeText(path('DEBIAN/conffiles'), `${CONFFILES.join('\n')}\n`)
  await writeText(path('DEBIAN/control'), await formatControl(options, directory))
}

/** The unit of a checkout in /opt/adit, for the program and documents of the package. */
async function serverUnit(): Promise<string> {
  const unit = await readFile(join(root, 'deploy', 'adit.service'), 'utf8')
  return unit
    .replaceAll('/opt/adit/bin/adit', '/usr/bin/adit')
    .replace('file:///opt/adit/docs', `file:///${DOCUMENTS}`)
    .replace('docs/install.md says how to install it.', 'Settings: /etc/adit/adit.env')
}

async function formatControl({ version, architecture }: PackageOptions, directory: string): Promise<string> {
  const [kilobytes] = execFileSync('du', ['-sk', '--apparent-size', directory], { encoding: 'utf8' }).split(
    '\t',
  )
  return `Package: adit
Version: ${version}
Architecture: ${architecture}
Maintainer: The Adit authors <adit@localhost>
Installed-Size: ${kilobytes}
Depends: libatomic1, libc6 (>= 2.28), libgcc-s1, libstdc++6, passwd
Recommends: ca-certificates
Section: net
Priority: optional
Description: self-hosted tunnels and ingress
 Public URLs for local services: the server, with its dashboard and
 management API, and the agent in one program. Both have a systemd unit,
 which is enabled after its configuration in /etc/adit was edited.
`
}

async function writeText(file: string, text: string | Buffer): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}
