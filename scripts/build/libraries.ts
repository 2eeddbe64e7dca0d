import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readImportGraph } from '../import-graph.ts'

/** The npm packages that the sources import by name, and a build therefore contains (decision 174). */
export interface Libraries {
  /** Those of the server and the agent. */
  readonly program: readonly string[]
  /** Those of the browser pages. */
  readonly pages: readonly string[]
}

/** `from 'name'`, `import 'name'` and `import('name')`, unless only types are imported. */
const PACKAGE_IMPORT =
  /(?:^|\n)\s*(?:import|export)\s+(?!type\s)[^'"`;]*?from\s*'([@\w][^':]*)'|(?:^|\n)import\s+'([@\w][^':]*)'|(?:^|[^.\w])import\(\s*'([@\w][^':]*)'\s*\)/g

export async function listLibraries(root: string): Promise<Libraries> {
  const { files } = await readImportGraph(root)
  const [program, pages] = [new Set<string>(), new Set<string>()]
  for (const file of files.filter((name) => !name.endsWith('vite.config.ts'))) {
    const names = file.startsWith('src/web/') ? pages : program
    const source = await readFile(join(root, file), 'utf8')
    for (const [, named, bare, lazy] of source.matchAll(PACKAGE_IMPORT))
      names.add(packageName((named ?? bare ?? lazy)!))
  }
  return { program: [...program].sort(), pages: [...pages].sort() }
}

/** `@scope/name` of `@scope/name/file.js`. */
function packageName(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}
