import { createRequire, registerHooks } from 'node:module'
import { getAsset } from 'node:sea'
import { pathToFileURL } from 'node:url'
import { isMainThread } from 'node:worker_threads'

/**
 * The main script of a single executable, and the first of each of its threads (`base/threads/start-thread.ts`): loads the modules
 * of the program from the assets of the executable. They have the URLs of files below the executable's own path, so that
 * paths relative to a module mean the same as in an installation.
 */
const ROOT = `${pathToFileURL(process.execPath).href}/`
/** A child process gets the URL of its module (`base/process/start-process.ts`). */
const [, , argument = ''] = process.argv
const MAIN = process.send !== undefined && argument.startsWith(ROOT) ? argument : `${ROOT}cli.js`
/** Node's `import()` in the main script of an executable finds built-in modules alone; in this module it uses the hooks. */
const START = `${ROOT}start`

registerHooks({
  resolve(specifier, context, next) {
    const base = context.parentURL
    const isOurs = specifier.startsWith(ROOT) || (specifier.startsWith('.') && base?.startsWith(ROOT))
    if (!isOurs) return next(specifier, context)
    return { url: new URL(specifier, base).href, format: 'module', shortCircuit: true }
  },
  load(url, context, next) {
    if (!url.startsWith(ROOT)) return next(url, context)
    const source =
      url === START ? `import(${JSON.stringify(MAIN)})` : getAsset(url.slice(ROOT.length), 'utf8')
    return { format: 'module', source, shortCircuit: true }
  },
})

if (isMainThread) createRequire(process.execPath)(START)
