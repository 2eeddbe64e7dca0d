// Builds the browser pages into dist/ when one of their inputs has changed. Arguments restrict the build to these pages:
//   node scripts/build-pages.ts [PAGE...]
import { createHash } from 'node:crypto'
import { glob, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import type { Plugin } from 'vite'

const root = join(import.meta.dirname, '..')
/** Each page and its base path. */
const PAGES = { inspector: '/', dashboard: '/dashboard/', docs: '/docs/' }
/** Inputs of every page beside the modules of its bundle. The lock file names the versions of the packages in it. */
const COMMON_INPUTS = ['package-lock.json', 'scripts/build-pages.ts', 'src/web/vite.config.ts']

const requestedPages = process.argv.slice(2)
for (const [page, base] of Object.entries(PAGES)) {
  if ((requestedPages.length === 0 || requestedPages.includes(page)) && (await isStale(page)))
    await build(page, base)
}

/** The file that lists the inputs of a built page with their digests, beside the page so that it is not served. */
function inputsFile(page: string): string {
  return join(root, 'dist', `${page}.inputs.json`)
}

async function isStale(page: string): Promise<boolean> {
  try {
    await readFile(join(root, 'dist', page, 'index.html'))
    const built = JSON.parse(await readFile(inputsFile(page), 'utf8')) as Record<string, string>
    const digests = await Promise.all(Object.keys(built).map(digestOf))
    return Object.values(built).some((digest, index) => digest !== digests[index])
  } catch {
    // Never built, or an input was deleted or renamed.
    return true
  }
}

async function digestOf(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(join(root, file)))
    .digest('base64')
}

/** Builds in a staging directory and renames it, so that a running server never serves half a page. */
async function build(page: string, base: string): Promise<void> {
  process.stderr.write(`setup: building the ${page} page\n`)
  const { build: bundle } = await import('vite')
  const { pageConfig } = await import('../src/web/vite.config.ts')
  const target = join(root, 'dist', page)
  const staging = join(root, 'dist', `.${page}-${process.pid}`)
  const previous = `${staging}-former`
  const inputs = new Set(COMMON_INPUTS)
  // Styles and images that others import are no modules of the bundle.
  for await (const file of glob(`src/web/{${page},shared}/**/*.{css,html,svg}`, { cwd: root }))
    inputs.add(file)
  await mkdir(join(root, 'dist'), { recursive: true })
  await bundle(pageConfig(page, staging, base, collectInputs(inputs)))
  if (page === 'docs') await addDocuments(staging, inputs)
  await rename(target, previous).catch(() => {})
  try {
    await rename(staging, target)
  } catch {
    // A concurrent run built the same page; its result is equivalent.
    await rm(staging, { recursive: true, force: true })
  }
  await rm(previous, { recursive: true, force: true })
  const digests = await Promise.all([...inputs].sort().map(async (file) => [file, await digestOf(file)]))
  await writeFile(`${staging}.json`, `${JSON.stringify(Object.fromEntries(digests), null, 2)}\n`)
  await rename(`${staging}.json`, inputsFile(page))
}

/** Makes the documentation site of the documents; the built page is their template. */
async function addDocuments(directory: string, inputs: Set<string>): Promise<void> {
  const { writeSite } = await import('./docs/site.ts')
  for (const file of await writeSite(root, directory)) inputs.add(file)
  for await (const file of glob('scripts/docs/*.ts', { cwd: root })) inputs.add(file)
}

/** Collects the modules of this repository that the bundle contains. */
function collectInputs(inputs: Set<string>): Plugin {
  return {
    name: 'collect-inputs',
    buildEnd() {
      for (const id of this.getModuleIds()) {
        const path = relative(root, id.replace(/\?.*$/, ''))
        if (/^(src|scripts)\//.test(path.replaceAll(sep, '/'))) inputs.add(path)
      }
    },
  }
}
