import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle } from './bundle.ts'
import { formatLicences } from './licences.ts'
import { agentManifest, publishedManifest } from './manifest.ts'
import { writeTypes } from './types.ts'

const root = join(import.meta.dirname, '..', '..')
const LIBRARY = join(root, 'src', 'agent', 'index.ts')
const COPIED = ['bin/adit.cjs', 'dist/inspector', 'docs', 'LICENSE', 'README.md', 'CHANGELOG.md']

/** The packages, each with its program in `src`. */
const PACKAGES = {
  adit: { program: 'cli.ts', manifest: publishedManifest, copied: [...COPIED, 'dist/dashboard'] },
  'adit-agent': { program: 'agent-cli.ts', manifest: agentManifest, copied: COPIED },
}
export type PackageName = keyof typeof PACKAGES

/**
 * Writes a whole package into a directory: the program and the library in `dist/lib`, its types, the licences of what they
 * contain, the launcher, the documents and the pages, which must have been built.
 */
export async function buildPackage(name: PackageName, directory: string): Promise<void> {
  const { program, manifest, copied } = PACKAGES[name]
  const dist = join(directory, 'dist')
  await rm(directory, { recursive: true, force: true })
  await mkdir(dist, { recursive: true })
  const source = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  await writeFile(join(directory, 'package.json'), `${JSON.stringify(manifest(source), null, 2)}\n`)
  for (const path of copied) await cp(join(root, path), join(directory, path), { recursive: true })

  const packages = await bundle({
    entries: { cli: join(root, 'src', program), index: LIBRARY },
    directory: join(dist, 'lib'),
  })
  await writeFile(join(dist, 'third-party-licences.txt'), formatLicences(packages))
  await writeTypes(root, LIBRARY, join(dist, 'types'))
}
