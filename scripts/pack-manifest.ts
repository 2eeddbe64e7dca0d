// `npm pack` in this directory ships the published manifest instead of the repository's: npm reads it after `prepack`.
//   node scripts/pack-manifest.ts publish | restore
import { copyFile, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { publishedManifest } from './build/manifest.ts'

const root = join(import.meta.dirname, '..')
const manifest = join(root, 'package.json')
const original = join(root, 'dist', 'package.json.original')

if (process.argv[2] === 'publish') {
  const source = JSON.parse(await readFile(manifest, 'utf8'))
  await copyFile(manifest, original)
  await writeFile(manifest, `${JSON.stringify(publishedManifest(source), null, 2)}\n`)
} else await rename(original, manifest)
