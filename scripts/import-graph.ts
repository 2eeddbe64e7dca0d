// Prints the size of the import graph: node scripts/import-graph.ts [git-revision ...]
// Without a revision it reads the working tree; with several it prints one line for each, to compare them.
import { execFileSync } from 'node:child_process'
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

/** One import between two source files. */
export interface Import {
  readonly from: string
  readonly to: string
  /** `import type` and `export type`: gone before the program runs. */
  readonly typeOnly: boolean
  /** `import(…)`: loaded when it is first needed. */
  readonly lazy: boolean
}

/** The sources below `src`, without tests and fixtures, and every import between them. */
export interface ImportGraph {
  readonly files: readonly string[]
  readonly imports: readonly Import[]
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s+(type\s)?[^'"]*?from\s*'(\.[^']+)'|(?:^|\n)import\s+'(\.[^']+)'|(?:^|[^.\w])import\(\s*'(\.[^']+)'\s*\)/g

export async function readImportGraph(root: string): Promise<ImportGraph> {
  const files: string[] = []
  for await (const file of glob('src/**/*.{ts,tsx}', { cwd: root }))
    if (!/\.(test|contract|fixture|d)\.tsx?$|\/testing\b/.test(file)) files.push(file)
  files.sort()
  const existing = new Set(files)

  const imports: Import[] = []
  for (const from of files) {
    const source = await readFile(join(root, from), 'utf8')
    for (const [, typeOnly, named, bare, lazy] of source.matchAll(IMPORT)) {
      const to = relative(root, join(root, dirname(from), (named ?? bare ?? lazy)!))
      if (existing.has(to))
        imports.push({ from, to, typeOnly: typeOnly !== undefined, lazy: lazy !== undefined })
    }
  }
  return { files, imports }
}

/** `src/edge/http`, or `src/cli.ts` for a file that stands in no folder. */
export function folderOf(file: string): string {
  const folder = dirname(file)
  return folder === 'src' ? file : folder
}

/** Groups of nodes that reach each other (Tarjan's strongly connected components), each sorted; single nodes are left out. */
export function cyclesOf(edges: Iterable<{ readonly from: string; readonly to: string }>): string[][] {
  const next = new Map<string, Set<string>>()
  for (const { from, to } of edges) {
    if (from === to) continue
    next.set(from, (next.get(from) ?? new Set()).add(to))
  }
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const onStack = new Set<string>()
  const cycles: string[][] = []

  const visit = (node: string): void => {
    index.set(node, index.size)
    low.set(node, index.get(node)!)
    stack.push(node)
    onStack.add(node)
    for (const successor of next.get(node) ?? []) {
      if (!index.has(successor)) visit(successor)
      if (onStack.has(successor)) low.set(node, Math.min(low.get(node)!, low.get(successor)!))
    }
    if (low.get(node) !== index.get(node)) return
    const component = stack.splice(stack.indexOf(node))
    for (const member of component) onStack.delete(member)
    if (component.length > 1) cycles.push(component.sort())
  }
  for (const node of next.keys()) if (!index.has(node)) visit(node)
  return cycles
}

/** The imports between folders, each arrow once. */
export function folderArrows(imports: readonly Import[]): { from: string; to: string }[] {
  const arrows = new Map<string, { from: string; to: string }>()
  for (const each of imports) {
    const [from, to] = [folderOf(each.from), folderOf(each.to)]
    if (from !== to) arrows.set(`${from} ${to}`, { from, to })
  }
  return [...arrows.values()]
}

/** How many steps the longest chain of imports has, a cycle counted as one. */
function depthOf(imports: readonly Import[]): number {
  const component = new Map<string, string>()
  for (const cycle of cyclesOf(imports)) for (const member of cycle) component.set(member, cycle[0]!)
  const nameOf = (file: string) => component.get(file) ?? file
  const next = new Map<string, Set<string>>()
  for (const { from, to } of imports)
    if (nameOf(from) !== nameOf(to))
      next.set(nameOf(from), (next.get(nameOf(from)) ?? new Set()).add(nameOf(to)))
  const depths = new Map<string, number>()
  const depth = (node: string): number => {
    const cached = depths.get(node)
    if (cached !== undefined) return cached
    const longest = 1 + Math.max(0, ...[...(next.get(node) ?? [])].map(depth))
    depths.set(node, longest)
    return longest
  }
  return Math.max(0, ...[...next.keys()].map(depth))
}

function describe(revision: string, { files, imports }: ImportGraph): void {
  const values = imports.filter(({ typeOnly, lazy }) => !typeOnly && !lazy)
  const folders = new Set(files.map(folderOf))
  const perFolder = [...folders]
    .map((folder) => [folder, files.filter((file) => folderOf(file) === folder).length] as const)
    .sort(([, a], [, b]) => b - a)
  const rows = {
    files: files.length,
    folders: folders.size,
    'largest folder': `${perFolder[0]![0]} (${perFolder[0]![1]} files)`,
    'imports between files': imports.length,
    'imports between folders': folderArrows(imports).length,
    'longest chain of imports': depthOf(imports),
    'cycles of files, values alone': cyclesOf(values).length,
    'cycles of files, types too': cyclesOf(imports).length,
    'cycles of folders': cyclesOf(folderArrows(imports)).length,
  }
  console.log(revision)
  for (const [name, value] of Object.entries(rows)) console.log(`  ${name.padEnd(32)}${value}`)
  for (const cycle of cyclesOf(folderArrows(imports))) console.log(`  folders in a cycle: ${cycle.join(' ')}`)
  for (const cycle of cyclesOf(imports)) console.log(`  files in a cycle: ${cycle.join(' ')}`)
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..')
  const revisions = process.argv.slice(2)
  if (revisions.length === 0) describe('working tree', await readImportGraph(root))
  for (const revision of revisions) {
    const copy = await mkdtemp(join(tmpdir(), 'import-graph-'))
    try {
      const archive = execFileSync('git', ['archive', revision, 'src'], { cwd: root, maxBuffer: 1 << 30 })
      execFileSync('tar', ['-x', '-C', copy], { input: archive })
      describe(revision, await readImportGraph(copy))
    } finally {
      await rm(copy, { recursive: true })
    }
  }
}
