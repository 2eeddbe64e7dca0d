import { readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { type OutputChunk, type Plugin, rolldown } from 'rolldown'

const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8'))

/** The lowest Node that the built program runs on (decision 162). */
export const TARGET = manifest.engines.node.replace('>=', 'node')

/** An npm package whose code is part of a bundle. */
export interface BundledPackage {
  readonly name: string
  readonly version: string
  readonly directory: string
}

/** What to bundle. Every output file is in one directory, so that they find each other by name. */
export interface BundleOptions {
  /** Source files by the name of their output file, without extension. */
  readonly entries: Readonly<Record<string, string>>
  /** The output directory; its other files stay. */
  readonly directory: string
  readonly format?: 'esm' | 'cjs'
  readonly minify?: boolean
  /** False puts everything, dynamic imports too, into the one entry. */
  readonly codeSplitting?: boolean
  readonly plugins?: readonly Plugin[]
}

/** Bundles entries with all their packages; returns the packages whose code is included. */
export async function bundle(options: BundleOptions): Promise<readonly BundledPackage[]> {
  const { entries, directory, format = 'esm', minify = false, codeSplitting = true, plugins = [] } = options
  const build = await rolldown({
    input: { ...entries },
    platform: 'node',
    // The paths of tsconfig.json name a declaration file, which is no code.
    tsconfig: false,
    transform: {
      target: TARGET,
      jsx: 'react-jsx',
      define: {
        'process.env.NODE_ENV': '"production"',
        ...(format === 'esm' && { __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' }),
      },
    },
    plugins: [bundleWorkers(), leaveOutOptionalImports(), ...plugins],
    onLog(level, log, report) {
      // typebox and fastify test for code generation; an address in a string is no import.
      if (log.code !== 'EVAL') report(level, log)
    },
  })
  try {
    const { output } = await build.write({
      dir: directory,
      format,
      minify,
      codeSplitting,
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      // Stack traces and `instanceof` messages name functions and classes.
      keepNames: minify,
      comments: { legal: false },
    })
    return packagesOf(output.filter((file): file is OutputChunk => file.type === 'chunk'))
  } finally {
    await build.close()
  }
}

const WORKER_URL = /new URL\('\.\/([\w-]+)\.ts', import\.meta\.url\)/g

/** Bundles the file of each `new URL('./x.ts', import.meta.url)`, a worker, as an entry of its own beside the others. */
function bundleWorkers(): Plugin {
  return {
    name: 'workers',
    transform: {
      filter: { code: WORKER_URL },
      handler(code, id) {
        return code.replace(WORKER_URL, (_url, name: string) => {
          this.emitFile({ type: 'chunk', id: resolve(dirname(id), `${name}.ts`), fileName: `${name}.js` })
          return `new URL('./${name}.js', import.meta.url)`
        })
      },
    },
  }
}

/** Imports that packages try and do without: native code, colours of a debug log, ink's development mode. */
const OPTIONAL_IMPORTS = /^(?:cpu-features|pg-native|react-devtools-core|supports-color)$|\.node$/

/** The bundle never loads a package that happens to be installed near it. */
function leaveOutOptionalImports(): Plugin {
  return {
    name: 'optional-imports',
    resolveId: { filter: { id: OPTIONAL_IMPORTS }, handler: (id) => `\0absent:${basename(id)}` },
    load: {
      filter: { id: /^\0absent:/ },
      handler: (id) => `module.exports = {}; throw new Error('${id.slice(1)}')`,
    },
  }
}

function packagesOf(chunks: readonly OutputChunk[]): BundledPackage[] {
  const packages = new Map<string, BundledPackage>()
  for (const file of chunks.flatMap(({ moduleIds }) => moduleIds)) {
    const directory = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file.replace(/^\0/, ''))?.[0]
    if (directory === undefined || packages.has(directory)) continue
    const { name, version } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
    packages.set(directory, { name, version, directory })
  }
  return [...packages.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}
