// Builds the pages that run in a browser into dist/, those whose sources are newer than what is there. Names of pages on
// the command line mean only those.
import { glob, mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
/** Each page and the address below which it is served. */
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

/** Built aside and then moved, so that what is running never serves half a page. */
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
    // Somebody else built the same page at the same moment; theirs is as good.
    await rm(staging, { recursive: true, force: true })
  }
  await rm(previous, { recursive: true, force: true })
}
