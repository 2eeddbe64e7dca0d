// Builds what the npm packages ship, into dist/: the package `adit` from this directory, `adit-agent` in dist/adit-agent.
//   node scripts/build.ts
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { buildAgentPackage, buildProgram } from './build/packages.ts'

const root = join(import.meta.dirname, '..')

execFileSync(process.execPath, [join(root, 'scripts', 'build-pages.ts')], { stdio: 'inherit' })
process.stderr.write('build: bundling adit\n')
await buildProgram('cli.ts', root)
process.stderr.write('build: bundling adit-agent\n')
await buildAgentPackage(join(root, 'dist', 'adit-agent'))
