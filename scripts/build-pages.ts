// Builds the pages that run in a browser into dist/, those whose sources are newer than what is there. Names of pages on
// the command line mean only those.
import { glob, mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
/** Each page and the address below which it is served. */
const PAGES = { inspector: '/', dashboard: '/dashboard/' }

const wanted = process.argv.slice(2)
for (const [page, base] of Object.entries(PAGES)) {
  if ((wanted.length === 0 || wanted.includes(page)) && (await isStale(page))) await build(page, base)
}

async function isStale(page: string): Promise<boolean> {
  const built = await stat(join(root, 'dist', page, 'index.html')).catch(() => undefined)
  if (!built) return true
  for await (const file of glob(`src/web/{${page}/**/,shared/**/,}*.{ts,tsx,css,html,svg}`, { cwd: root })) {
    if (!file.endsWith('.test.ts') && (await stat(join(root, file))).mtimeMs > built.mtimeMs) return true
  }
  return false
}

/** Built aside and then moved, so that what is running never serves half a page. */
async function build(page: string, base: string): Promise<void> {
  process.stderr.write(`setup: building the ${page} page\n`)
  const { build: bundle } = await import('vite')
  const { pageConfig } = await import('../src/web/vite.config.ts')
  const target = join(root, 'dist', page)
  const aside = join(root, 'dist', `.${page}-${process.pid}`)
  const former = `${aside}-former`
  await mkdir(join(root, 'dist'), { recursive: true })
  await bundle(pageConfig(page, aside, base))
  await rename(target, former).catch(() => {})
  try {
    await rename(aside, target)
  } catch {
    // Somebody else built the same page at the same moment; theirs is as good.
    await rm(aside, { recursive: true, force: true })
  }
  await rm(former, { recursive: true, force: true })
}
