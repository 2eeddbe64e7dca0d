// Builds the browser pages into dist/ when their sources are newer. Arguments restrict the build to these pages:
//   node scripts/build-pages.ts [PAGE...]
import { glob, mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
/** Each page and its base path. */
const PAGES = { inspector: '/', dashboard: '/dashboard/' }

const requestedPages = process.argv.slice(2)
for (const [page, base] of Object.entries(PAGES)) {
  if ((requestedPages.length === 0 || requestedPages.includes(page)) && (await isStale(page)))
    await build(page, base)
}

async function isStale(page: string): Promise<boolean> {
  const entry = await stat(join(root, 'dist', page, 'index.html')).catch(() => undefined)
  if (!entry) return true
  for await (const file of glob(`src/web/{${page}/**/,shared/**/,}*.{ts,tsx,css,html,svg}`, { cwd: root })) {
    if (!file.endsWith('.test.ts') && (await stat(join(root, file))).mtimeMs > entry.mtimeMs) return true
  }
  return false
}

/** Builds in a staging directory and renames it, so that a running server never serves half a page. */
async function build(page: string, base: string): Promise<void> {
  process.stderr.write(`setup: building the ${page} page\n`)
  const { build: bundle } = await import('vite')
  const { pageConfig } = await import('../src/web/vite.config.ts')
  const target = join(root, 'dist', page)
  const staging = join(root, 'dist', `.${page}-${process.pid}`)
  const previous = `${staging}-former`
  await mkdir(join(root, 'dist'), { recursive: true })
  await bundle(pageConfig(page, staging, base))
  await rename(target, previous).catch(() => {})
  try {
    await rename(staging, target)
  } catch {
    // A concurrent run built the same page; its result is equivalent.
    await rm(staging, { recursive: true, force: true })
  }
  await rm(previous, { recursive: true, force: true })
}
