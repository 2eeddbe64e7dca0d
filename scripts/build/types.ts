import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

const RELATIVE_IMPORT = /(from\s*|import\()(['"])(\.[^'"]+)\.tsx?\2/g

/** Writes the type declarations of source files, and those they refer to, below a directory as they are below `src`. */
export async function writeTypes(root: string, entries: readonly string[], directory: string): Promise<void> {
  const staging = await mkdtemp(join(tmpdir(), 'adit-types-'))
  try {
    emitDeclarations(root, entries, staging)
    const pending = entries.map((entry) =>
      join(staging, relative(join(root, 'src'), entry).replace(/\.ts$/, '.d.ts')),
    )
    for (const file of pending) {
      const text = await readFile(file, 'utf8')
      for (const [, , , name] of text.matchAll(RELATIVE_IMPORT)) {
        const declaration = join(dirname(file), `${name}.d.ts`)
        if (!pending.includes(declaration)) pending.push(declaration)
      }
      const target = join(directory, relative(staging, file))
      await mkdir(dirname(target), { recursive: true })
      await writeFile(target, text.replace(RELATIVE_IMPORT, '$1$2$3.js$2'))
    }
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

/** The compiler declares every file that the entries import, implementation included. */
function emitDeclarations(root: string, entries: readonly string[], outDir: string): void {
  const flags = [
    '--ignoreConfig',
    '--target',
    'esnext',
    '--module',
    'nodenext',
    '--jsx',
    'react-jsx',
    '--strict',
  ]
  execFileSync(
    join(root, 'node_modules', '.bin', 'tsc'),
    [
      ...flags,
      ...[
        '--types',
        'node',
        '--allowImportingTsExtensions',
        '--exactOptionalPropertyTypes',
        '--skipLibCheck',
      ],
      ...[
        '--declaration',
        '--emitDeclarationOnly',
        '--rootDir',
        join(root, 'src'),
        '--outDir',
        outDir,
        ...entries,
      ],
    ],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
  )
}
